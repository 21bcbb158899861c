# SPDX-License-Identifier: Apache-2.0
# bash completion for lpo. The candidates come from the program: `lpo __complete WORD…`.
_lpo()
{
    local line=${COMP_LINE:0:COMP_POINT} words=() found=() candidate typed=
    read -ra words <<<"$line"
    # bash splits words at "=" and ":" too; we want the words as the program gets them.
    [[ $line == *[[:space:]] ]] && words+=("")
    typed=${words[-1]}
    while IFS=$'\t' read -r candidate _; do
        found+=("$candidate")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    if [[ ${#found[@]} -eq 0 ]]; then
        compopt -o default
        return
    fi
    # Where bash took only the part after "=" as the current word, it wants only that part back.
    [[ $COMP_WORDBREAKS == *=* && $typed == *=* ]] && found=("${found[@]#"${typed%=*}="}")
    COMPREPLY=("${found[@]}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -F _lpo lpo
