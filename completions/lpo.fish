# SPDX-License-Identifier: Apache-2.0
# fish completion for lpo. The candidates come from the program: `lpo __complete WORD…`.
function __lpo_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l found ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
    if test (count $found) -eq 0
        __fish_complete_path "$typed"
    else
        printf '%s\n' $found
    end
end
complete -c lpo -f -a '(__lpo_candidates)'
