#include "store/loaded_library.h"

#include <dlfcn.h>

namespace signalbox {

LoadedLibrary::LoadedLibrary(const char* file, const char* package)
    : file_(file), package_(package), handle_(::dlopen(file, RTLD_LAZY | RTLD_LOCAL)) {
  if (handle_ == nullptr) note_problem();
}

void* LoadedLibrary::find_symbol(const char* name, bool is_needed) {
  if (!problem_.empty()) return nullptr;
  void* const symbol = ::dlsym(handle_, name);
  if (symbol == nullptr && is_needed) note_problem();
  return symbol;
}

void LoadedLibrary::note_problem() {
  const char* const why = ::dlerror();
  problem_ = file_.substr(0, file_.find('.')) + " can't be loaded (Debian has it in " + package_ +
             "): " + (why == nullptr ? file_ : why);
}

}  // namespace signalbox
