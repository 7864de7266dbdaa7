// Tests what HTTP answers about a job's output: the whole, ranges of it, and what isn't kept, also
// while it grows.
#include "server/transport/http/output_download.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "server/executors/bounded_log.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

// Returns the bytes [from, to) of a text in which no two places look alike.
std::string counted_text(std::size_t from, std::size_t to) {
  constexpr std::size_t word_bytes = 8;
  std::string text;
  for (std::size_t word = from / word_bytes; word * word_bytes < to; ++word) {
    text += std::to_string(word + 10'000'000);
  }
  return text.substr(from % word_bytes, to - from);
}

class OutputDownloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(data_.path() / "jobs/j");
    log_ = std::make_unique<BoundedLog>(
        BoundedLog::create(data_.path() / "jobs/j/stdout.log").value());
  }
  // Prints until the stream has so many bytes.
  void print_up_to(std::size_t end) {
    for (std::size_t at = log_->stream_bytes(); at < end; at = log_->stream_bytes()) {
      log_->append(counted_text(at, std::min(at + 60'000, end)));
    }
  }
  [[nodiscard]] HttpAnswer answer(const DownloadHeaders& headers = {}, bool is_head = false) const {
    return output_answer(read_, {"j", "build", 2, "stdout", 0}, headers, is_head);
  }
  [[nodiscard]] HttpAnswer range(const std::string& asked, const std::string& if_range = {}) const {
    return answer({{}, asked, if_range});
  }
  static std::string field(const HttpAnswer& answer, const std::string& name) {
    for (const auto& [each, value] : answer.headers) {
      if (each == name) return value;
    }
    return {};
  }

  TemporaryDirectory data_;
  OutputReader read_ = output_reader(data_.path());
  std::unique_ptr<BoundedLog> log_;
};

TEST_F(OutputDownloadTest, TheWholeIsSentAndRangesOfIt) {  // O2
  constexpr std::size_t end = 700'000;
  print_up_to(end);
  const HttpAnswer whole = answer();
  EXPECT_EQ(whole.status, 200U);
  EXPECT_EQ(whole.media_type, "text/plain; charset=utf-8");
  EXPECT_TRUE(whole.body == counted_text(0, end));
  EXPECT_EQ(field(whole, "Accept-Ranges"), "bytes");
  EXPECT_EQ(field(whole, "Content-Disposition"), "attachment; filename=\"build-2.stdout.txt\"");

  const HttpAnswer middle = range("bytes=500000-600000");
  EXPECT_EQ(middle.status, 206U);
  EXPECT_TRUE(middle.body == counted_text(500'000, 600'001));
  EXPECT_EQ(field(middle, "Content-Range"), "bytes 500000-600000/700000");
  EXPECT_EQ(range("bytes=-5").body, counted_text(end - 5, end));
  EXPECT_EQ(range("bytes=699999-").body, counted_text(end - 1, end));
  EXPECT_EQ(range("bytes=699999-99999999").body, counted_text(end - 1, end));
  EXPECT_EQ(range("bytes=0-0,5-6").status, 200U) << "several ranges are answered with the whole";
  EXPECT_EQ(answer({{}, "bytes=0-4", {}}, true).status, 200U) << "a range is for GET alone";
  const HttpAnswer beyond = range("bytes=700000-");
  EXPECT_EQ(beyond.status, 416U);
  EXPECT_EQ(field(beyond, "Content-Range"), "bytes */700000");
}

TEST_F(OutputDownloadTest, WhatGrowsHasAnotherTagAndANewEnd) {  // O2
  EXPECT_EQ(answer().status, 200U);
  EXPECT_EQ(answer().body, "");
  EXPECT_EQ(range("bytes=0-").status, 416U);
  print_up_to(100);
  const std::string tag = field(answer(), "ETag");
  EXPECT_EQ(answer({tag, {}, {}}).status, 304U);
  EXPECT_EQ(answer({"\"other\", W/" + tag, {}, {}}).status, 304U);
  EXPECT_EQ(field(range("bytes=90-", tag), "Content-Range"), "bytes 90-99/100");
  print_up_to(150);
  EXPECT_NE(field(answer(), "ETag"), tag);
  EXPECT_EQ(answer({tag, {}, {}}).status, 200U);
  EXPECT_EQ(range("bytes=90-", tag).status, 200U) << "it isn't what the client has a part of";
  EXPECT_EQ(range("bytes=100-").body, counted_text(100, 150)) << "what is new since then";
}

// 50 MB were printed, of which a megabyte is kept, and no more is read.
TEST_F(OutputDownloadTest, OfALongOutputBothEndsAreSent) {  // O2
  constexpr std::size_t end = 50'000'000;
  print_up_to(end);
  const HttpAnswer whole = answer();
  EXPECT_EQ(whole.status, 200U);
  EXPECT_LT(whole.body.size(), log_head_bytes + log_ring_bytes + 100);
  EXPECT_TRUE(whole.body.starts_with(counted_text(0, log_head_bytes) + "\n… "));
  EXPECT_NE(whole.body.find(" bytes aren't kept …\n"), std::string::npos);
  EXPECT_TRUE(whole.body.ends_with(counted_text(end - 400'000, end)));
  EXPECT_EQ(field(whole, "ETag"), "") << "no range completes what has a line of ours in it";
  EXPECT_EQ(field(whole, "Accept-Ranges"), "none");

  EXPECT_TRUE(range("bytes=-400000").body == counted_text(end - 400'000, end));
  EXPECT_TRUE(range("bytes=1000-1999").body == counted_text(1000, 2000));
  EXPECT_EQ(field(range("bytes=1000-1999"), "Accept-Ranges"), "bytes");
  const HttpAnswer part = range("bytes=524000-49999999");
  EXPECT_EQ(part.status, 206U);
  EXPECT_EQ(field(part, "Content-Range"), "bytes 524000-524287/50000000") << "up to the gap";
  EXPECT_TRUE(part.body == counted_text(524'000, log_head_bytes));
  const HttpAnswer after = range("bytes=1000000-");
  const std::size_t from = end - after.body.size();
  EXPECT_EQ(field(after, "Content-Range"), "bytes " + std::to_string(from) + "-49999999/50000000");
  EXPECT_TRUE(after.body == counted_text(from, end));
  const HttpAnswer lost = range("bytes=1000000-2000000");
  EXPECT_EQ(lost.status, 416U);
  EXPECT_EQ(field(lost, "Content-Range"), "bytes */50000000");
  EXPECT_NE(lost.body.find("aren't kept"), std::string::npos);
}

// The writer goes on between two reads, and overwrites what was to be read next.
TEST_F(OutputDownloadTest, WhatIsOverwrittenMeanwhileIsNotSentAsSomethingElse) {  // O2
  print_up_to(log_head_bytes + log_ring_bytes);
  int reads = 0;
  const OutputReader racing = [&](const std::string& job, std::string_view stream,
                                  std::uint64_t from, std::size_t bytes) {
    if (++reads == 4) print_up_to(log_->stream_bytes() + 300'000);
    return read_(job, stream, from, bytes);
  };
  const HttpAnswer whole = output_answer(racing, {"j", "build", 2, "stdout", 0}, {}, false);
  EXPECT_EQ(whole.status, 200U);
  EXPECT_EQ(field(whole, "ETag"), "");
  EXPECT_NE(whole.body.find(" bytes aren't kept …\n"), std::string::npos);
  const std::size_t tail = whole.body.find("…\n") + std::string_view("…\n").size();
  const std::size_t tail_bytes = whole.body.size() - tail;
  EXPECT_TRUE(whole.body.substr(tail) == counted_text(log_head_bytes + log_ring_bytes - tail_bytes,
                                                      log_head_bytes + log_ring_bytes));
}

TEST_F(OutputDownloadTest, WhatIsGoneIsRefused) {  // O2
  print_up_to(100);
  const HttpAnswer shorter = output_answer(read_, {"j", "build", 2, "stdout", 101}, {}, false);
  EXPECT_EQ(shorter.status, 404U) << "it was longer when the attempt was looked up";
  std::filesystem::remove(data_.path() / "jobs/j/stdout.log");
  std::filesystem::create_directory(data_.path() / "jobs/j/stdout.log");
  EXPECT_EQ(answer().status, 404U);
}

}  // namespace
}  // namespace signalbox
