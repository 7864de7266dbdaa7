// Tests bounded logs and their excerpts, without a job.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "server/executors/bounded_log.h"
#include "server/executors/log_excerpt.h"
#include "server/text/utf8_text.h"
#include "tests/eventually.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

// Returns a text in which no two places look alike.
std::string numbered(std::size_t bytes) {
  std::string text;
  for (std::size_t line = 0; text.size() < bytes; ++line) text += std::to_string(line) + "\n";
  text.resize(bytes);
  return text;
}

class BoundedLogTest : public ::testing::Test {
 protected:
  KeptLog written(const std::string& text, std::size_t chunk_bytes, std::size_t bytes_max) {
    auto created = BoundedLog::create(path);
    BoundedLog& log = *created;
    for (std::size_t at = 0; at < text.size(); at += chunk_bytes) {
      log.append(std::string_view(text).substr(at, chunk_bytes));
    }
    EXPECT_EQ(log.stream_bytes(), text.size());
    EXPECT_EQ(log.error(), "");
    EXPECT_LE(std::filesystem::file_size(path), log_head_bytes + log_ring_bytes);
    return read_bounded_log(path, text.size(), bytes_max).value();
  }

  TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "stdout.log";
};

TEST_F(BoundedLogTest, KeepsBeginningAndEndOfAnyLength) {  // S9
  constexpr std::size_t kept = log_head_bytes + log_ring_bytes;
  std::mt19937 random(7);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, log_head_bytes - 1, log_head_bytes, log_head_bytes + 1,
        kept - 1, kept, kept + 1, kept + log_ring_bytes, kept + log_ring_bytes + 17, 3 * kept}) {
    const std::string text = numbered(length);
    const KeptLog log = written(text, 1 + random() % 200'000, log_ring_bytes);
    EXPECT_EQ(log.whole(), length <= kept) << length;
    EXPECT_EQ(log.head, text.substr(0, log.head.size())) << length;
    EXPECT_EQ(log.tail, text.substr(length - log.tail.size())) << length;
    if (length > kept) {
      EXPECT_EQ(log.head.size(), log_head_bytes);
      EXPECT_EQ(log.tail.size(), log_ring_bytes);
    }
  }
}

// The writer was killed after it wrote a piece and before it updated the length file. Every byte
// that a reader gets must be the stream's byte at that offset.
TEST_F(BoundedLogTest, KilledBeforeItsLengthIsNotedShowsNothingFalse) {
  constexpr std::size_t kept = log_head_bytes + log_ring_bytes;
  constexpr std::size_t piece = 64 * 1024;  // the longest that a job's supervisor writes at a time
  const auto length_file = length_file_of(path);
  const std::string text = numbered(3 * kept);
  for (const std::size_t noted : {kept, kept + 1, kept + log_ring_bytes, 2 * kept + 4711}) {
    for (const std::size_t late : {std::size_t{1}, std::size_t{5000}, piece}) {
      auto created = BoundedLog::create(path);
      created->append(std::string_view(text).substr(0, noted));
      // At the first length the length file may be absent or still empty.
      const bool is_first = noted == kept;
      const std::string digits = is_first ? "" : std::to_string(noted);
      created->append(std::string_view(text).substr(noted, late));
      write_text(length_file, digits);
      for (const bool has_file : {true, false}) {
        if (!has_file && !is_first) continue;
        if (!has_file) std::filesystem::remove(length_file);
        for (const std::size_t bytes_max :
             {std::size_t{1000}, log_ring_bytes / 2, log_ring_bytes - piece - 1,
              log_ring_bytes - piece, log_ring_bytes - piece + 1, log_ring_bytes}) {
          const auto part = read_log_after(path, 0, bytes_max);
          ASSERT_TRUE(part) << part.error().message;
          const std::string scope = std::to_string(noted) + " + " + std::to_string(late) + ", " +
                                    std::to_string(bytes_max) + " bytes";
          EXPECT_TRUE(part->bytes == text.substr(part->offset, part->bytes.size())) << scope;
          if (bytes_max > log_ring_bytes - piece) continue;
          EXPECT_EQ(part->end, noted) << scope;
          EXPECT_EQ(part->bytes.size(), bytes_max) << scope;
        }
      }
    }
  }
}

// Returns the bytes [from, to) of a stream of the numbers from 0 on.
std::string numbers_of_stream(std::uint64_t from, std::uint64_t to) {
  std::string text;
  for (std::uint64_t number = from / sizeof number; number * sizeof number < to; ++number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return text.substr(from % sizeof from, to - from);
}

// The writer goes around the ring during the reads, and once for the first time.
TEST_F(BoundedLogTest, ARangeOfAGrowingStreamShowsNothingFalse) {  // S9
  constexpr std::uint64_t piece = 64 * 1024;
  for (int round = 0; round < 100; ++round) {
    std::filesystem::remove(path);
    std::filesystem::remove(length_file_of(path));
    auto log = BoundedLog::create(path);
    std::atomic<bool> has_ended = false;
    std::thread writer([&log, &has_ended] {
      for (std::uint64_t at = 0; at < 4 * (log_head_bytes + log_ring_bytes); at += piece) {
        log->append(numbers_of_stream(at, at + piece));
      }
      has_ended = true;
    });
    bool is_last = false;
    while (!is_last) {
      is_last = has_ended;
      for (const std::size_t bytes_max : {std::size_t{1000}, log_ring_bytes / 2}) {
        const auto part = read_log_range(path, log_head_bytes, bytes_max);
        EXPECT_TRUE(part && part->bytes ==
                                numbers_of_stream(part->offset, part->offset + part->bytes.size()));
        if (is_last) {
          EXPECT_EQ(part->bytes.size(), bytes_max);
        }
      }
    }
    writer.join();
  }
}

// Really kills the writer at an arbitrary moment: the length file is never ahead of the bytes.
// As a runner sends them: what is new since the copy's end, and of that what is kept.
TEST_F(BoundedLogTest, ACopyMadeOfPartsShowsNothingFalse) {  // N4
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const auto source = directory.path() / ("source" + std::to_string(round));
    const auto copy = directory.path() / ("copy" + std::to_string(round));
    auto log = BoundedLog::create(source).value();
    std::string stream;
    while (stream.size() < 3 * log_ring_bytes) {
      std::string more(random() % 300'000, ' ');
      for (char& byte : more) byte = static_cast<char>('a' + random() % 26);
      log.append(more);
      stream += more;
      if (random() % 4 == 0) continue;
      for (std::uint64_t next = add_log_part(copy, 0, {}).value(); next < stream.size();) {
        const auto part = read_log_range(source, next, log_ring_bytes - 64 * 1024).value();
        next = add_log_part(copy, part.offset, part.bytes).value();
        ASSERT_EQ(next, part.offset + part.bytes.size());
      }
      for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{log_head_bytes},
                                       std::uint64_t{stream.size() - random() % 1000}}) {
        const auto shown = read_log_range(copy, from, 100'000).value();
        EXPECT_EQ(shown.end, stream.size());
        const std::size_t begin = std::min<std::uint64_t>(shown.offset, stream.size());
        EXPECT_EQ(shown.bytes, stream.substr(begin, shown.bytes.size()));
        EXPECT_EQ(shown.offset, read_log_range(source, from, 100'000).value().offset);
      }
    }
  }
}

TEST_F(BoundedLogTest, APartThatDoesNotFollowIsNotAdded) {  // N4
  const auto copy = directory.path() / "copy";
  EXPECT_EQ(add_log_part(copy, 7, "late").value(), 0U);
  EXPECT_EQ(add_log_part(copy, 0, "begin").value(), 5U);
  EXPECT_EQ(add_log_part(copy, 0, "begin").value(), 5U) << "sent twice";
  EXPECT_EQ(add_log_part(copy, 6, "later").value(), 5U) << "the head has to be whole";
  EXPECT_EQ(read_log_range(copy, 0, 100).value().bytes, "begin");
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(add_log_part(fifo, 0, "x"));
}

TEST_F(BoundedLogTest, KilledAnywhereTheLengthIsNotAheadOfTheBytes) {
  constexpr std::size_t kept = log_head_bytes + log_ring_bytes;
  const std::string text = numbered(50 * kept);
  for (int round = 0; round < 20; ++round) {
    std::filesystem::remove(path);
    std::filesystem::remove(length_file_of(path));
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      auto log = BoundedLog::create(path);
      for (std::size_t at = 0; at < text.size(); at += 4096) {
        log->append(std::string_view(text).substr(at, 4096));
      }
      for (;;) ::pause();
    }
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(length_file_of(path)); }));
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status));
    const auto part = read_log_after(path, 0, log_ring_bytes / 2);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_GE(part->end, kept);
    EXPECT_EQ(part->bytes.size(), log_ring_bytes / 2);
    EXPECT_TRUE(part->bytes == text.substr(part->offset, part->bytes.size())) << part->offset;
  }
}

TEST_F(BoundedLogTest, DiskThatRefusesLosesTheLogAndNotTheJob) {
  auto created = BoundedLog::create("/dev/full");
  BoundedLog& log = *created;
  log.append("lost");
  EXPECT_EQ(log.stream_bytes(), 4U);
  EXPECT_NE(log.error(), "");
}

TEST(LogExcerpt, WholeWhereItFits) {
  EXPECT_EQ(log_excerpt({6, "hello\n", ""}, {3, "oh!", ""}, 1024),
            "--- stdout, 6 bytes ---\nhello\n--- stderr, 3 bytes ---\noh!\n");
  EXPECT_EQ(log_excerpt({}, {}, 1024), "");
}

TEST(LogExcerpt, NeverLongerThanItsBoundAndAlwaysUtf8) {  // S9
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const auto noise = [&random] {
      std::string bytes(random() % 9000, ' ');
      for (char& byte : bytes) byte = static_cast<char>(random() % (random() % 2 ? 256 : 128));
      return bytes;
    };
    const KeptLog out{random() % 50'000, noise(), noise()};
    const KeptLog err{random() % 50'000, noise(), noise()};
    const std::string text = log_excerpt(out, err, 4096);
    EXPECT_LE(text.size(), 4096U);
    EXPECT_TRUE(is_utf8(text));
  }
}

TEST(LogExcerpt, SmallStreamIsNotCutForALargeOne) {
  const std::string text =
      log_excerpt({1'000'000, std::string(16'000, 'o'), std::string(16'000, 'p')},
                  {12, "the culprit\n", ""}, 4096);
  EXPECT_NE(text.find("the original is 1000012 bytes"), std::string::npos) << text.substr(0, 200);
  EXPECT_NE(text.find("of 1000000 bytes are shown]"), std::string::npos);
  EXPECT_NE(text.find("--- stderr, 12 bytes ---\nthe culprit\n"), std::string::npos);
  EXPECT_GT(text.size(), 3500U);
}

TEST(Utf8Text, CutsFallBetweenCharacters) {
  const std::string text = "aä€𝄞z";
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_TRUE(is_utf8(utf8_prefix(text, bytes)));
    EXPECT_TRUE(is_utf8(utf8_suffix(text, bytes)));
    EXPECT_LE(utf8_suffix(text, bytes).size(), bytes);
  }
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // past U+10FFFF
}

}  // namespace
}  // namespace signalbox
