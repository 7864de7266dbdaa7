// Pastes what the documents for users show, chapter by chapter. Every command has to succeed and to
// print what the document shows.
// || SIGNALBOX_REWRITE_DOCUMENTS=1 writes the outputs anew; read the difference before you keep it.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/child_process.h"
#include "tests/scenarios/pasted_chapter.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* pasted_documents[] = {"README.md", "tools/GUIDE.md", "server/OPERATING.md"};

fs::path document_path(const std::string& document) {
  return fs::path(SIGNALBOX_SOURCE_DIR) / document;
}

const PastedChapter* chapter_titled(const std::vector<PastedChapter>& chapters,
                                    const std::string& title) {
  for (const PastedChapter& each : chapters) {
    if (each.title == title) return &each;
  }
  return nullptr;
}

// Returns the name of a chapter's test: "GUIDE_Why_doesn_t_it_move" for tools/GUIDE.md and "Why
// doesn't it move?".
std::string chapter_test_name(const std::string& document, const std::string& title) {
  std::string name = fs::path(document).stem().string() + "_";
  for (const char each : title) {
    if (std::isalnum(static_cast<unsigned char>(each)) != 0) {
      name += each;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

// Replaces the outputs that the document shows of this chapter by `outputs`, one for each block.
// Reads the document anew, since earlier chapters may have been rewritten.
void rewrite_chapter(const std::string& document, const std::string& title,
                     const std::vector<std::string>& outputs) {
  std::string text = content_of(document_path(document));
  const std::vector<PastedChapter> chapters = pasted_chapters(text);
  const std::vector<PastedBlock>& blocks = chapter_titled(chapters, title)->blocks;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!blocks[i].output) continue;
    text.replace(blocks[i].output_begin, blocks[i].output->size(), shown_output(outputs[i]));
  }
  std::ofstream(document_path(document), std::ios::binary) << text;
}

// Returns how many due times the service's own loops have had: the heartbeat's and the prune's
// every ten minutes, the synthesizer's at 19 and 39 minutes past the hour, all in UTC.
std::int64_t due_times_until(std::chrono::system_clock::time_point now) {
  const auto minutes = std::chrono::floor<std::chrono::minutes>(now).time_since_epoch().count();
  const auto minute = minutes % 60;
  return minutes / 60 * 8 + minute / 10 + (minute >= 19 ? 1 : 0) + (minute >= 39 ? 1 : 0);
}

// Pastes the blocks while the service's own loops have no turn: their ticks take positions of the
// log, which documents show.
PastedResult paste_between_turns(const std::vector<PastedBlock>& blocks) {
  const auto passed = [] { return due_times_until(std::chrono::system_clock::now()); };
  for (;;) {
    const auto before = passed();
    PastedResult result = paste(blocks);
    if (passed() == before) return result;
  }
}

class PastedChapterTest : public testing::Test {
 public:
  PastedChapterTest(std::string document, std::string title)
      : document_(std::move(document)), title_(std::move(title)) {}

  void TestBody() override {
    const auto chapters = pasted_chapters(content_of(document_path(document_)));
    const PastedChapter* const preparation = chapter_titled(chapters, "");
    const PastedChapter* const chapter = chapter_titled(chapters, title_);
    ASSERT_NE(chapter, nullptr);
    std::vector<PastedBlock> blocks;
    if (preparation != nullptr) blocks = preparation->blocks;
    const std::size_t first = blocks.size();
    blocks.insert(blocks.end(), chapter->blocks.begin(), chapter->blocks.end());

    const PastedResult result = paste_between_turns(blocks);
    ASSERT_EQ(result.exit_code, 0)
        << "a command of block " << result.outputs.size() << " of " << blocks.size() << " failed:\n"
        << result.whole;
    ASSERT_EQ(result.outputs.size(), blocks.size());
    EXPECT_EQ(result.litter, std::vector<std::string>()) << "in the reader's directory";
    EXPECT_EQ(result.left, std::vector<std::string>()) << "processes";
    if (std::getenv("SIGNALBOX_REWRITE_DOCUMENTS") != nullptr) {
      const auto own = result.outputs.begin() + static_cast<std::ptrdiff_t>(first);
      return rewrite_chapter(document_, title_, {own, result.outputs.end()});
    }
    OutputMask shown;
    OutputMask printed;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i].output) continue;
      EXPECT_EQ(printed.mask(result.outputs[i]), shown.mask(*blocks[i].output))
          << "of\n"
          << blocks[i].commands << "\nwhich printed\n"
          << result.outputs[i];
    }
  }

 private:
  const std::string document_;
  const std::string title_;
};

// Registers a test for each chapter, so that none is forgotten.
bool register_chapters() {
  for (const std::string document : pasted_documents) {
    for (const PastedChapter& chapter : pasted_chapters(content_of(document_path(document)))) {
      if (chapter.title.empty()) continue;
      testing::RegisterTest("Readme", chapter_test_name(document, chapter.title).c_str(), nullptr,
                            nullptr, __FILE__, __LINE__,
                            [document, title = chapter.title]() -> testing::Test* {
                              return new PastedChapterTest(document, title);
                            });
    }
  }
  return true;
}
[[maybe_unused]] const bool chapters_registered = register_chapters();

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

// The examples of the protocol, for a server as the guide starts it.
TEST(Readme, TheExamplesOfTheProtocolAreAnswered) {
  std::vector<PastedBlock> blocks =
      chapter_titled(pasted_chapters(content_of(document_path("tools/GUIDE.md"))), "")->blocks;
  blocks.push_back({"export SIGNALBOX_SOCKET=$SIGNALBOX_DATA/signalbox.sock\n", {}, 0});
  const std::size_t first = blocks.size();
  for (const auto& chapter : pasted_chapters(content_of(document_path("server/PROTOCOL.md")))) {
    blocks.insert(blocks.end(), chapter.blocks.begin(), chapter.blocks.end());
  }
  ASSERT_GE(blocks.size(), first + 2);
  const PastedResult result = paste(blocks);
  ASSERT_EQ(result.exit_code, 0) << result.whole;
  for (std::size_t i = first; i < result.outputs.size(); ++i) {
    const std::string& output = result.outputs[i];
    const bool is_answer = output.find("\"runs\":[]") != std::string::npos ||
                           output.find("\"openrpc\":\"1.3.2\"") != std::string::npos;
    EXPECT_TRUE(is_answer) << output.substr(0, 2000);
  }
}

// A block of a kind that no test runs or compares is noticed here.
TEST(Readme, EveryBlockSaysWhatItIs) {
  for (const std::string document : pasted_documents) {
    const std::string text = content_of(document_path(document));
    ASSERT_EQ(occurrences(text, "\n```") % 2, 0u) << document;
    std::size_t known = 0;
    for (const char* kind : {"sh", "text", "console", "toml", "yaml", "markdown", "json"}) {
      known += occurrences(text, "\n```" + std::string(kind) + "\n");
    }
    EXPECT_EQ(known, occurrences(text, "\n```") / 2) << document;
    if (occurrences(text, "\n```console\n") > 0) {
      EXPECT_GE(occurrences(text, "o test pastes"), 1u) << "the reason why not";
    }
  }
}

TEST(Readme, FitsOnAFewScreens) {
  EXPECT_LE(occurrences(content_of(document_path("README.md")), "\n"), 150u);
}

// Tests the tests of chapters.
TEST(Readme, AWrongOutputALeftFileAndALeftProcessAreNoticed) {
  const auto masked = [](const std::string& output) { return OutputMask().mask(output); };
  const std::string id = "01a203b1-c262-767a-b4d9-60db7835a7d5";
  const std::string other = "01a203b1-c262-767a-b4d9-60db7835a7d6";
  EXPECT_EQ(masked("run " + id + "  took 3.4s\n"), masked("run " + other + "   took 12ms\n"));
  EXPECT_NE(masked(id + " " + id + "\n"), masked(id + " " + other + "\n"));
  EXPECT_NE(masked("executed 1 time\n"), masked("executed 2 times\n"));
  EXPECT_NE(masked("status  failed\n"), masked("status  succeeded\n"));

  const auto chapters = pasted_chapters(
      "```sh\nx=1\n```\n\n## One\n\n```sh\necho $x\n```\n\nprints\n\n```text\n1\n```\n");
  ASSERT_EQ(chapters.size(), 2u);
  EXPECT_EQ(chapters[0].title, "");
  EXPECT_EQ(chapters[1].title, "One");
  EXPECT_EQ(chapters[1].blocks.at(0).output, "1\n");

  // Until it has begun, the left process is a copy of the shell.
  const std::string leave_one =
      "touch here\n"
      "(sleep 60 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do sleep 0.01; done) >/dev/null\n";
  const PastedResult result =
      paste({{leave_one, {}, 0}, {"false\n", {}, 0}}, std::chrono::milliseconds(100));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(result.litter, std::vector<std::string>{"here"});
  ASSERT_EQ(result.left.size(), 1u);
  EXPECT_NE(result.left[0].find("sleep"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
