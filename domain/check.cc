#include "domain/check.h"

#include <cstdio>
#include <cstdlib>

namespace signalbox {

void check_failed(const char* file, int line, const char* fact) {
  std::fprintf(stderr, "signalbox: bug: %s:%d: not true: %s\n", file, line, fact);
  std::abort();
}

}  // namespace signalbox
