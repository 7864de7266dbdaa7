// A library of the system that is loaded when it is first needed, and then stays loaded.
#pragma once

#include <string>

namespace signalbox {

class LoadedLibrary {
 public:
  // Loads a library, e.g. "libpq.so.5", of this package of Debian. Blocks on the disk.
  LoadedLibrary(const char* file, const char* package);

  // Sets `function`, a pointer, to the function of this name, or to nullptr if there is none.
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_symbol(name));
  }
  // The same for a function that may be missing, also one of a library that this one needs.
  template <class Function>
  void find_if_any(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_symbol(name, /*is_needed=*/false));
  }
  // Returns why it can't be loaded or lacks a function that was looked for, for a person; empty if
  // neither is so.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void* find_symbol(const char* name, bool is_needed = true);
  void note_problem();

  const std::string file_;
  const std::string package_;
  std::string problem_;
  void* const handle_;  // nullptr: not loaded
};

}  // namespace signalbox
