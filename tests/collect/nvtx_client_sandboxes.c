/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of programs in a sandbox (seccomp): filters that kill, refuse or trap system calls
 * which the collector makes. Each is a promise of docs/collector.md, "What a program may do". */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "nvtx_client.h"

enum { FLUSH_MS = 120 };

static void range(const char *name)
{
    nvtx_lite_push(name);
    nvtx_lite_pop();
}

/* After its start the collector makes one system call for a new name and none for an old one,
 * until a buffer is written. */
static int sandbox(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    };
    struct sock_fprog filter = { sizeof code / sizeof *code, code };

    nvtx_lite_initialize(NULL);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    range("in the sandbox");
    syscall(SYS_exit_group, 6);
    return 9;
}

static void refuse(struct sock_filter *code, unsigned short len)
{
    struct sock_fprog filter = { len, code };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void many_ranges(void)
{
    char name[32];

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "new %d", i);
        range(name);
    }
    for (int i = 0; i < 100000; i++) /* more than a buffer holds */
        range("in the sandbox");
}

static void written_before(void)
{
    range("before");
    nap_ms(FLUSH_MS);
    range("before"); /* writes the buffer */
}

/* A filter that refuses with an error, as those of containers do. */
static int sandbox_refuses_writes(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };

    written_before();
    refuse(code, sizeof code / sizeof *code);
    many_ranges();
    exit(6);
}

/* Nothing but the end is allowed: not even to block signals or to read the clock. */
static int sandbox_refuses_all(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    written_before();
    refuse(code, sizeof code / sizeof *code);
    many_ranges();
    syscall(SYS_exit_group, 6);
    return 9;
}

/* Where the clock is a system call (no vDSO, as in some virtual machines), it can be refused. */
static int sandbox_refuses_clock(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };

    written_before();
    refuse(code, sizeof code / sizeof *code);
    nvtx_lite_push("long");
    many_ranges();
    nap_ms(FLUSH_MS);
    nvtx_lite_pop();
    exit(6);
}

/* What the default filter of Docker refuses (moby, profiles/seccomp), as far as x86-64 and arm64
 * both have it. */
static int sandbox_of_containers(void)
{
    static const unsigned refused[] = {
        SYS_acct,
        SYS_add_key,
        SYS_bpf,
        SYS_clock_settime,
        SYS_delete_module,
        SYS_finit_module,
        SYS_init_module,
        SYS_kexec_load,
        SYS_keyctl,
        SYS_lookup_dcookie,
        SYS_mount,
        SYS_move_pages,
        SYS_open_by_handle_at,
        SYS_perf_event_open,
        SYS_pivot_root,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_ptrace,
        SYS_quotactl,
        SYS_reboot,
        SYS_request_key,
        SYS_setns,
        SYS_settimeofday,
        SYS_swapoff,
        SYS_swapon,
        SYS_umount2,
        SYS_unshare,
        SYS_userfaultfd,
        SYS_vhangup,
        SYS_kcmp,
    };
    enum { COUNT = sizeof refused / sizeof *refused };
    struct sock_filter code[COUNT + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };

    for (unsigned i = 0; i < COUNT; i++)
        code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
                                                   (unsigned char)(COUNT - i), 0);
    code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    refuse(code, COUNT + 3); /* before the collector starts */
    CHECK(syscall(SYS_unshare, 0) < 0 && errno == EPERM);
    many_ranges();
    exit(6);
}

/* A sandbox that answers system calls in the program, as those of browsers do. */
static volatile sig_atomic_t trapped;

static void on_trap(int sig, siginfo_t *info, void *context)
{
    ucontext_t *at = context;

    (void)sig;
    (void)info;
#if defined(__x86_64__)
    at->uc_mcontext.gregs[REG_RAX] = -EPERM; /* what the system call returns */
#elif defined(__aarch64__)
    at->uc_mcontext.regs[0] = (unsigned long)-EPERM;
#endif
    trapped++;
    range("handler"); /* turned away: it interrupted the collector */
}

static int sandbox_traps(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

    written_before();
    CHECK(sigaction(SIGSYS, &act, NULL) == 0);
    refuse(code, sizeof code / sizeof *code);
    many_ranges();
    CHECK(trapped > 0);
    exit(6);
}

const struct scenario sandbox_scenarios[] = {
    { "sandbox", sandbox },
    { "sandbox_refuses_writes", sandbox_refuses_writes },
    { "sandbox_refuses_all", sandbox_refuses_all },
    { "sandbox_refuses_clock", sandbox_refuses_clock },
    { "sandbox_of_containers", sandbox_of_containers },
    { "sandbox_traps", sandbox_traps },
    { NULL, NULL },
};
