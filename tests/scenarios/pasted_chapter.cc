#include "tests/scenarios/pasted_chapter.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr char block_mark = '\036';

struct DocumentLine {
  std::string_view text;
  std::size_t begin = 0;
};

std::vector<DocumentLine> document_lines(std::string_view text) {
  std::vector<DocumentLine> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({text.substr(begin, end - begin), begin});
    begin = end + 1;
  }
  return lines;
}

std::string all_replaced(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

std::set<std::string> files_below(const fs::path& directory) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    files.insert(fs::relative(entry.path(), directory).string());
  }
  return files;
}

// Returns the command lines, by pid, of processes whose environment or arguments name the
// directory.
std::map<pid_t, std::string> processes_of(const fs::path& directory) {
  std::map<pid_t, std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string command = content_of(entry.path() / "cmdline");
    const std::string all = command + content_of(entry.path() / "environ");
    if (command.empty() || all.find(directory.string()) == std::string::npos) continue;
    std::replace(command.begin(), command.end(), '\0', ' ');
    found.emplace(std::stoi(name), command);
  }
  return found;
}

std::string script_of(const std::vector<PastedBlock>& blocks, const fs::path& checkout) {
  std::string script = "exec 2>&1\nset -e\ncd '" + checkout.string() + "'\n";
  for (const PastedBlock& block : blocks) {
    script += "printf '\\036'\n" + block.commands;
  }
  return script +
         "printf '\\036'\n"
         "if kill -0 \"${server:-}\" 2>/dev/null; then kill \"$server\"; wait \"$server\"; fi\n";
}

}  // namespace

std::vector<PastedChapter> pasted_chapters(const std::string& document) {
  std::vector<PastedChapter> chapters(1);
  std::string fence;        // language of the open block; empty outside of blocks
  bool follows_sh = false;  // the latest block was a ```sh block
  std::size_t begin = 0;
  for (const DocumentLine& line : document_lines(document)) {
    if (!line.text.starts_with("```")) {
      if (fence.empty() && line.text.starts_with("## ")) {
        chapters.push_back({std::string(line.text.substr(3)), {}});
        follows_sh = false;
      }
    } else if (fence.empty()) {
      fence = line.text.substr(3);
      begin = line.begin + line.text.size() + 1;
    } else {
      std::vector<PastedBlock>& blocks = chapters.back().blocks;
      const std::string content = document.substr(begin, line.begin - begin);
      if (fence == "sh") blocks.push_back({content, std::nullopt, 0});
      if (fence == "text" && follows_sh) {
        blocks.back().output = content;
        blocks.back().output_begin = begin;
      }
      follows_sh = fence == "sh";
      fence.clear();
    }
  }
  std::erase_if(chapters, [](const PastedChapter& each) { return each.blocks.empty(); });
  return chapters;
}

std::string shown_output(std::string_view output) {
  std::string text(output);
  text = all_replaced(text, R"([^\s"'=(]*/tmp\.\w{10})", "/tmp/tour");
  text = all_replaced(text, R"([\w.-]+@[\w.-]+:\d+\b)", "you@box:4711");
  text = all_replaced(text, R"(\buid:\d+)", "uid:1000");
  text = all_replaced(text, R"(127\.0\.0\.1:\d+)", "127.0.0.1:7070");
  return all_replaced(text, R"([ \t]+\n)", "\n");
}

std::string OutputMask::name_all(const std::string& text, const char* pattern,
                                 const std::string& kind) {
  const std::regex expression(pattern);
  std::string named;
  auto after = text.begin();
  for (std::sregex_iterator each(text.begin(), text.end(), expression), end; each != end; ++each) {
    named.append(after, text.begin() + each->position());
    named +=
        names_.try_emplace(each->str(), kind + std::to_string(names_.size() + 1)).first->second;
    after = text.begin() + each->position() + each->length();
  }
  return named.append(after, text.end());
}

std::string OutputMask::mask(std::string_view shown) {
  std::string text = shown_output(shown);
  text = all_replaced(text, R"(\d{4}-\d\d-\d\d(T[\d:.]+(Z|\+\d\d:\d\d)?)?)", "TIME");
  text = all_replaced(text, R"(\b\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:\d\d)?\b)?)", "TIME");
  text = all_replaced(text, "(─|█|·|░|▏|▎|▍|▌|▋|▊|▉)+", "─");
  // These files contain how long their attempt took, so their size and digest vary.
  text = all_replaced(text, R"((\w+_(summary|excerpt) +\w+ +\d+) +\d+ +(\S+) +\w+)",
                      "$1 BYTES $3 DIGEST");
  // How many ticks of the service's own loops lie before it varies.
  text = all_replaced(text, R"((signalbox events --from) \d+ --limit)", "$1 POSITION --limit");
  text = all_replaced(text, R"((--asked|--seen|--token|\(asked) \d+)", "$1 POSITION");
  text = name_all(text, R"(\+[\w+/]{40,}=*)", "+KEY");
  text = name_all(text, "…[0-9a-f]{6,12}", "…");
  text = name_all(text, R"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=[a-f]*\d)[0-9a-f]{7,}\b)",
                  "ID");
  // Comes after the ids, which may contain such text.
  text = all_replaced(text, R"(\b\d+(\.\d+)? ?(ns|us|ms|s|m|h|d)\b( \d+(ms|s|m|h)\b)*( ago)?)",
                      "DURATION");
  text = all_replaced(text, R"(\bnow\b)", "DURATION");
  text = all_replaced(text, R"([+-]?\d+ %)", "PERCENT");
  // Last: columns have more than one space between them, the parts of one duration have one.
  return all_replaced(text, "[ \t]+", " ");
}

PastedResult paste(const std::vector<PastedBlock>& blocks, std::chrono::milliseconds patience) {
  const TemporaryDirectory place;
  const fs::path checkout = place.path() / "checkout";
  for (const char* name : {"checkout", "home", "tmp"}) fs::create_directory(place.path() / name);
  fs::create_directory_symlink(fs::path(SIGNALBOX_BINARY).parent_path(), checkout / "build");
  std::ofstream(place.path() / "pasted.sh") << script_of(blocks, checkout);
  const std::set<std::string> before = files_below(checkout);

  const Output output = run_process(
      {"timeout", "--kill-after=5", "120", "bash", (place.path() / "pasted.sh").string()},
      {"HOME=" + (place.path() / "home").string(), "TMPDIR=" + (place.path() / "tmp").string(),
       "XDG_STATE_HOME=" + (place.path() / "home").string(), "SIGNALBOX_DATA=", "NO_COLOR=1",
       "GIT_CONFIG_GLOBAL=/dev/null", "TZ=UTC", "LC_ALL=C.UTF-8"});

  PastedResult result{output.exit_code, output.out, {}, {}, {}};
  std::size_t begin = output.out.find(block_mark);
  while (begin != std::string::npos && result.outputs.size() < blocks.size()) {
    const std::size_t end = output.out.find(block_mark, begin + 1);
    result.outputs.push_back(output.out.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  for (const std::string& file : files_below(checkout)) {
    if (!before.contains(file)) result.litter.push_back(file);
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  auto left = processes_of(place.path());
  while (!left.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left = processes_of(place.path());
  }
  for (const auto& [id, command] : left) {
    result.left.push_back(command);
    ::kill(id, SIGKILL);
  }
  return result;
}

}  // namespace signalbox
