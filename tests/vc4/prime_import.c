/* The one request that Mesa's DRM shim does not know, for a process that imports dma-bufs: DRM_IOCTL_PRIME_FD_TO_HANDLE.
 * Any file stands for a dma-buf, and gets an empty buffer object of its size: nothing is drawn on the shim anyway.
 *
 *     cc -shared -fPIC -o prime_import.so prime_import.c -ldl      LD_PRELOAD=prime_import.so:SHIM
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#define PRIME_FD_TO_HANDLE 0xc00c642eul
#define VC4_CREATE_BO 0xc0106443ul

struct prime { uint32_t handle, flags; int32_t fd; };
struct create { uint32_t size, flags, handle, pad; };

int ioctl(int fd, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, ...);
    va_list arguments;
    va_start(arguments, request);
    void *given = va_arg(arguments, void *);
    va_end(arguments);
    if (!next)
        next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    if (request != PRIME_FD_TO_HANDLE)
        return next(fd, request, given);
    struct prime *wanted = given;
    struct create made = {(uint32_t)lseek(wanted->fd, 0, SEEK_END), 0, 0, 0};
    int result = next(fd, VC4_CREATE_BO, &made);
    wanted->handle = made.handle;
    return result;
}
