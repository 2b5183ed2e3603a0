/* How a process gives up what a kernel has no business with: Landlock, then seccomp.
 *
 * confine() returns the bits of what took hold: 1 seccomp, 2 Landlock. Calls that a kernel could
 * only want for mischief trap (the handler names them); others that are not needed fail with EPERM.
 */
#ifndef FORMWRIGHT_CONFINE_H
#define FORMWRIGHT_CONFINE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FW_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FW_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4
#endif

/* The numbers are the same on every architecture that has these calls. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static const int fw_allowed[] = {
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_read,
    SYS_pread64, SYS_write, SYS_close, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_getdents64,
    SYS_exit, SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_sched_setaffinity,
    SYS_sched_getaffinity, SYS_sched_yield, SYS_getpid, SYS_gettid, SYS_getcpu, SYS_clock_gettime,
    SYS_clock_nanosleep, SYS_nanosleep, SYS_clock_getres, SYS_gettimeofday, SYS_sendto,
    SYS_recvfrom, SYS_getrandom, SYS_sysinfo, SYS_uname, SYS_membarrier, SYS_restart_syscall,
    SYS_readlinkat, SYS_faccessat, SYS_getrusage, SYS_getuid, SYS_geteuid, SYS_get_mempolicy,
#if defined(__x86_64__)
    SYS_arch_prctl, SYS_readlink, SYS_access, SYS_stat, SYS_lstat, SYS_time,
#endif
};

static const int fw_trapped[] = {
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_execve, SYS_execveat, SYS_ptrace,
    SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill, SYS_setsid, SYS_setpgid,
    SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_linkat, SYS_symlinkat, SYS_truncate,
    SYS_ftruncate, SYS_fchmodat, SYS_fchmod, SYS_memfd_create, SYS_pwrite64, SYS_mount,
    SYS_clock_settime, SYS_settimeofday, SYS_adjtimex, SYS_clock_adjtime,
#if defined(__x86_64__)
    SYS_open, SYS_creat, SYS_fork, SYS_vfork, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link,
    SYS_symlink, SYS_chmod,
#endif
};

enum { FW_COUNT = sizeof fw_allowed / sizeof *fw_allowed };
enum { FW_TRAPS = sizeof fw_trapped / sizeof *fw_trapped };

#define FW_ARGUMENT(n) (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (n))
#define FW_LOAD(at) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at)))
#define FW_IF(op, k, t, f) ((struct sock_filter)BPF_JUMP(BPF_JMP | (op) | BPF_K, (k), (t), (f)))
#define FW_END(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (what)))

static int fw_seccomp(void) {
#ifndef FW_ARCHITECTURE
    return 0;
#else
    struct sock_filter program[64 + 2 * (FW_COUNT + FW_TRAPS)];
    unsigned short n = 0;
    program[n++] = FW_LOAD(offsetof(struct seccomp_data, arch));
    program[n++] = FW_IF(BPF_JEQ, FW_ARCHITECTURE, 1, 0);
    program[n++] = FW_END(SECCOMP_RET_KILL_PROCESS);
    program[n++] = FW_LOAD(offsetof(struct seccomp_data, nr));
    for (int i = 0; i < FW_COUNT; i++) {
        program[n++] = FW_IF(BPF_JEQ, (uint32_t)fw_allowed[i], 0, 1);
        program[n++] = FW_END(SECCOMP_RET_ALLOW);
    }
    for (int i = 0; i < FW_TRAPS; i++) {
        program[n++] = FW_IF(BPF_JEQ, (uint32_t)fw_trapped[i], 0, 1);
        program[n++] = FW_END(SECCOMP_RET_TRAP);
    }
    /* A new thread is fine, a new process is not. clone3 hides its flags: libc falls back to clone. */
    program[n++] = FW_IF(BPF_JEQ, SYS_clone, 0, 4);
    program[n++] = FW_LOAD(FW_ARGUMENT(0));
    program[n++] = FW_IF(BPF_JSET, CLONE_THREAD, 0, 1);
    program[n++] = FW_END(SECCOMP_RET_ALLOW);
    program[n++] = FW_END(SECCOMP_RET_TRAP);
    program[n++] = FW_IF(BPF_JEQ, SYS_clone3, 0, 1);
    program[n++] = FW_END(SECCOMP_RET_ERRNO | ENOSYS);
    /* Files may be opened for reading. */
    program[n++] = FW_IF(BPF_JEQ, SYS_openat, 0, 4);
    program[n++] = FW_LOAD(FW_ARGUMENT(2));
    program[n++] = FW_IF(BPF_JSET, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1);
    program[n++] = FW_END(SECCOMP_RET_TRAP);
    program[n++] = FW_END(SECCOMP_RET_ALLOW);
    /* A handler of its own would hide what guard pages catch, and stay in the process of a user. The
       C library may install those of its threads (32 and above), and anybody may ask. */
    program[n++] = FW_IF(BPF_JEQ, SYS_rt_sigaction, 0, 8);
    program[n++] = FW_LOAD(FW_ARGUMENT(0));
    program[n++] = FW_IF(BPF_JGE, 32, 4, 0);
    program[n++] = FW_LOAD(FW_ARGUMENT(1));
    program[n++] = FW_IF(BPF_JEQ, 0, 0, 3);
    program[n++] = FW_LOAD(FW_ARGUMENT(1) + 4);
    program[n++] = FW_IF(BPF_JEQ, 0, 0, 1);
    program[n++] = FW_END(SECCOMP_RET_ALLOW);
    program[n++] = FW_END(SECCOMP_RET_TRAP);
    /* abort() signals its own thread; no other process may be signalled. */
    program[n++] = FW_IF(BPF_JEQ, SYS_tgkill, 0, 4);
    program[n++] = FW_LOAD(FW_ARGUMENT(0));
    program[n++] = FW_IF(BPF_JEQ, (uint32_t)getpid(), 0, 1);
    program[n++] = FW_END(SECCOMP_RET_ALLOW);
    program[n++] = FW_END(SECCOMP_RET_TRAP);
    program[n++] = FW_END(SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog filter = {n, program};
    /* SPEC_ALLOW: the filter must not slow down what is being measured. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0)
        return 1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
#endif
}

/* Rights of Landlock's first version; reading stays possible below the given paths only. */
static int fw_landlock(int count, char **paths) {
    const uint64_t all = (1u << 13) - 1, reading = 1u << 0 | 1u << 2 | 1u << 3;
    struct { uint64_t handled; } attributes = {all};
    struct __attribute__((packed)) { uint64_t allowed; int32_t parent; } rule;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (rules < 0) return 0;
    for (int i = 0; i < count; i++) {
        int at = open(paths[i], O_PATH | O_CLOEXEC);
        if (at < 0) continue; /* a path that is not there needs no rule */
        rule.allowed = reading;
        rule.parent = at;
        if (syscall(SYS_landlock_add_rule, rules, 1, &rule, 0)) {
            rule.allowed = 1u << 0 | 1u << 2; /* a file, not a folder */
            syscall(SYS_landlock_add_rule, rules, 1, &rule, 0);
        }
        close(at);
    }
    int held = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return held;
}

static uint64_t confine(int count, char **paths) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 0;
    const uint64_t landlock = count > 0 && fw_landlock(count, paths) ? 2 : 0;
    return landlock | (fw_seccomp() ? 1 : 0);
}

#endif
