// Which of the mutants that tests/mutation compiled into a source is on. Included only by the
// generated copies of sources, never by the product.
//
// SIGNALBOX_MUTANT is the number of the mutant that is on. SIGNALBOX_MUTANTS_REACHED is a file of
// `mutants_max` bytes: the byte of each mutant whose place was executed becomes 1. The file is
// mapped, so the marks of a process that is killed, and of the programs that it started, are there.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

namespace signalbox::mutation {

inline constexpr std::size_t mutants_max = 65'536;

struct Switch {
  Switch() {
    if (const char* number = std::getenv("SIGNALBOX_MUTANT")) {
      active = static_cast<unsigned>(std::strtoul(number, nullptr, 10));
    }
    const char* path = std::getenv("SIGNALBOX_MUTANTS_REACHED");
    if (path == nullptr) return;
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* mapped = ::mmap(nullptr, mutants_max, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED) reached = static_cast<volatile char*>(mapped);
  }
  unsigned active = 0;  // 0: none
  volatile char* reached = nullptr;
};

// Returns whether mutant `number` is on, and marks it as reached.
inline bool is_on(unsigned number) {
  static const Switch the_switch;
  if (the_switch.reached != nullptr && number < mutants_max) the_switch.reached[number] = 1;
  return number == the_switch.active;
}

}  // namespace signalbox::mutation
