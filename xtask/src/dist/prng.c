/* The random numbers that Rust's standard library asks Windows for, where Wine has them not yet
   (before 9.0): from the function that they came from before. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    return RtlGenRandom(data, (ULONG)size);
}
