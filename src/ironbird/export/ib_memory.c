/* The two functions that compilers call by themselves, and the entry of a Windows library: for libraries without a C
 * library. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) { ((volatile char *)to)[i] = ((const char *)from)[i]; }
  return to;
}

void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) { ((volatile char *)to)[i] = (char)value; }
  return to;
}

#ifdef _WIN32
int _fltused = 0;
int DllMainCRTStartup(void *module, unsigned reason, void *reserved) {
  (void)module; (void)reason; (void)reserved;
  return 1;
}
#endif
