// What the start of every thread clears, in the program as users have it.
#include <elf.h>

#include <cstdint>
#include <fstream>

#include <gtest/gtest.h>

namespace signalbox {
namespace {

#ifndef SIGNALBOX_SANITIZED  // which has memory of its own for each thread
// A variable of each thread in a template has a copy for each of its instances: with one for each
// type of event this was forty kilobytes.
TEST(ThreadMemory, IsAFewPages) {
  std::ifstream program(SIGNALBOX_BINARY, std::ios::binary);
  Elf64_Ehdr header{};
  ASSERT_TRUE(program.read(reinterpret_cast<char*>(&header), sizeof header));
  program.seekg(static_cast<std::streamoff>(header.e_phoff));
  std::uint64_t bytes = 0;
  for (int each = 0; each < header.e_phnum; ++each) {
    Elf64_Phdr segment{};
    ASSERT_TRUE(program.read(reinterpret_cast<char*>(&segment), sizeof segment));
    if (segment.p_type == PT_TLS) bytes = segment.p_memsz;
  }
  EXPECT_GT(bytes, 0U);
  EXPECT_LT(bytes, 16'384U);
}
#endif

}  // namespace
}  // namespace signalbox
