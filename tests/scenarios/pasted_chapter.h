// A chapter of a document as somebody pastes it: its ```sh blocks, and the ```text block after each
// that shows what comes out.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

struct PastedBlock {
  std::string commands;
  std::optional<std::string> output;  // where the document shows it
  std::size_t output_begin = 0;       // of `output` in the document
};

// What stands under one `##`. The blocks before the first `##` of a document are its preparation:
// `title` is empty, and each chapter is pasted after them.
struct PastedChapter {
  std::string title;
  std::vector<PastedBlock> blocks;
};

// The chapters that have something to paste, in their order.
std::vector<PastedChapter> pasted_chapters(const std::string& document);

// `output` as a document shows it: the names of this machine, its user and its temporary directory
// are replaced by those of an example.
std::string shown_output(std::string_view output);

// Masks what differs each time: ids, digests, times, durations and the widths of columns that
// depend on them. One id has the same name wherever it stands, and another id another one, so two
// ids that have to be equal still are.
class OutputMask {
 public:
  // The names go on from one output of a chapter to the next.
  std::string mask(std::string_view shown);

 private:
  std::string name_all(const std::string& text, const char* pattern, const std::string& kind);

  std::map<std::string, std::string> names_;
};

struct PastedResult {
  int exit_code = -1;
  std::string whole;                 // all that was printed
  std::vector<std::string> outputs;  // stdout and stderr of each block that began
  std::vector<std::string> litter;   // files that are new in the directory it was pasted in
  std::vector<std::string> left;     // command lines of processes that still ran
};

// Runs the blocks in one shell, in the order given, in a fresh directory that has the program as
// `build/signalbox`. Stops at the first command that fails. Ends the server whose process id is in
// `$server`, and then waits for all other processes to be gone, at most for `patience`; what is
// left after that is killed.
PastedResult paste(const std::vector<PastedBlock>& blocks,
                   std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace signalbox
