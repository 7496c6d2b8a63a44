// User-Mode Linux keeps the registers of a program in 2696 bytes: all that a processor had when it was written. The kernel
// of a machine with more of them (AMX) takes them back only whole, and the first program of the second kernel would end with
// "ptrace set fp regs failed". What it gives is put over the rest as it is: no program in there can ask for those registers.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*Ptrace)(int, pid_t, void *, void *);

static Ptrace real;
static char whole[1 << 16]; // not on the stack, which is that of a kernel; and one thread alone does this

__attribute__((constructor)) static void find(void)
{
    real = (Ptrace)dlsym(RTLD_NEXT, "ptrace");
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list words;
    va_start(words, request);
    pid_t pid = va_arg(words, pid_t);
    void *place = va_arg(words, void *);
    void *data = va_arg(words, void *);
    va_end(words);
    if (request == PTRACE_SETREGSET && (long)place == NT_X86_XSTATE) {
        struct iovec *given = data, all = {whole, sizeof whole};
        if (real(PTRACE_GETREGSET, pid, place, &all) == 0 && given->iov_len < all.iov_len) {
            memcpy(whole, given->iov_base, given->iov_len);
            return real(request, pid, place, &all);
        }
    }
    return real(request, pid, place, data);
}
