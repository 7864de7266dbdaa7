// A chapter of a document as a reader pastes it: its ```sh blocks, and the ```text block after each
// that shows its output.
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
  std::optional<std::string> output;  // as shown in the document
  std::size_t output_begin = 0;       // offset of `output` in the document
};

// The blocks below one `##` heading. The blocks before the first `##` are the document's
// preparation: their `title` is empty, and each chapter is pasted after them.
struct PastedChapter {
  std::string title;
  std::vector<PastedBlock> blocks;
};

// Returns the chapters with something to paste, in order.
std::vector<PastedChapter> pasted_chapters(const std::string& document);

// Returns `output` as a document shows it: the names of this machine, its user and its temporary
// directory are replaced by example names.
std::string shown_output(std::string_view output);

// Masks what differs each time: ids, digests, times, durations, and the widths of columns that
// depend on them. Equal ids get equal names and different ids different ones, so a comparison still
// finds ids that should be equal and aren't.
class OutputMask {
 public:
  // Returns the masked text. Names continue from one output of a chapter to the next.
  std::string mask(std::string_view shown);

 private:
  std::string name_all(const std::string& text, const char* pattern, const std::string& kind);

  std::map<std::string, std::string> names_;
};

struct PastedResult {
  int exit_code = -1;
  std::string whole;                 // everything that was printed
  std::vector<std::string> outputs;  // stdout and stderr of each block that began
  std::vector<std::string> litter;   // new files in the directory that it was pasted in
  std::vector<std::string> left;     // command lines of processes that were still running
};

// Runs the blocks in one shell, in order, in a fresh directory with the program as
// `build/signalbox`. Stops at the first command that fails. Ends the server whose process id is in
// `$server`. Then blocks until all other processes have ended, at most for `patience`, and kills
// the rest.
PastedResult paste(const std::vector<PastedBlock>& blocks,
                   std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace signalbox
