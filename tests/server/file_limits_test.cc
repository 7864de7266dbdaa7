// The limits of files that others write and the server reads: hooks of a repository, headers for a
// collector of traces, certificates, keys, files that name checks. P8
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <boost/json/serialize.hpp>

#include "server/executors/checks/instructions.h"
#include "server/executors/job_directory.h"
#include "server/followers/traces/trace_limits.h"
#include "server/followers/traces/trace_settings.h"
#include "server/git/hidden_files.h"
#include "server/git/hook_copy.h"
#include "server/git/large_files.h"
#include "server/git/submodule_links.h"
#include "server/git/worktree_status.h"
#include "server/limits.h"
#include "server/platform/stored_json.h"
#include "server/scheduler/retention_settings.h"
#include "server/tls_identity.h"
#include "store/signed_note.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class FileLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(hooks_);
    std::filesystem::create_directory(copy_);
  }
  // Writes a file of this size and returns its path.
  static std::string write(const std::filesystem::path& path, std::size_t bytes,
                           const std::string& begin = "") {
    std::ofstream(path) << begin << std::string(bytes - begin.size(), 'x');
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path.string();
  }

  const TemporaryDirectory scratch_;
  const std::filesystem::path hooks_ = scratch_.path() / "hooks";
  const std::filesystem::path copy_ = scratch_.path() / "copy";
};

TEST_F(FileLimits, OfTheBytesOfAnIndex) {
  const std::filesystem::path index = write(scratch_.path() / "index", 1);
  std::filesystem::resize_file(index, limits::worktree_index_bytes_max);  // with nothing in it
  const auto copied = copy_index(index, copy_ / "index");
  EXPECT_TRUE(copied) << copied.error();
  EXPECT_EQ(std::filesystem::file_size(copy_ / "index"), limits::worktree_index_bytes_max);
  std::filesystem::resize_file(index, limits::worktree_index_bytes_max + 1);
  EXPECT_FALSE(copy_index(index, copy_ / "index"));
}

TEST_F(FileLimits, OfTheNumberOfHooks) {
  for (std::size_t hook = 1; hook <= limits::hook_files_max; ++hook) {
    write(hooks_ / ("hook" + std::to_string(hook)), 1);
  }
  const auto copied = copy_hooks(hooks_, copy_);
  EXPECT_TRUE(copied) << copied.error();
  write(hooks_ / "another", 1);
  EXPECT_FALSE(copy_hooks(hooks_, copy_));
}

TEST_F(FileLimits, OfTheBytesOfHooks) {
  write(hooks_ / "pre-push", 1);
  write(hooks_ / "pre-commit", limits::hooks_bytes_max - 1);
  const auto copied = copy_hooks(hooks_, copy_);
  EXPECT_TRUE(copied) << copied.error();
  write(hooks_ / "pre-push", 2);
  EXPECT_FALSE(copy_hooks(hooks_, copy_));
}

TEST_F(FileLimits, OfTheHeadersForTraces) {
  TraceTexts texts;
  texts.endpoint = "http://127.0.0.1:4318/v1/traces";
  texts.headers_file =
      write(scratch_.path() / "headers", limits::trace_headers_bytes_max, "Authorization: ");
  const auto settings = read_trace_settings(texts);
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->headers.size(), 1U);
  write(scratch_.path() / "headers", limits::trace_headers_bytes_max + 1, "Authorization: ");
  EXPECT_FALSE(read_trace_settings(texts));
}

// Neither file has a certificate; only the second one is refused for its size.
TEST_F(FileLimits, OfTheAuthorityForTraces) {
  TraceTexts texts;
  texts.endpoint = "https://127.0.0.1:4318/v1/traces";
  const auto problem_of = [&](std::size_t bytes) {
    texts.certificate_authority = write(scratch_.path() / "authority", bytes);
    const auto settings = read_trace_settings(texts);
    return settings ? std::string() : settings.error();
  };
  const std::string none = "has no certificate";
  const std::string at_limit = problem_of(limits::trace_certificates_bytes_max);
  EXPECT_NE(at_limit.find(none), std::string::npos) << at_limit;
  const std::string beyond = problem_of(limits::trace_certificates_bytes_max + 1);
  EXPECT_FALSE(beyond.empty());
  EXPECT_EQ(beyond.find(none), std::string::npos) << beyond;
}

TEST_F(FileLimits, OfTheBackfillOfTraces) {
  TraceTexts texts;
  texts.backfill = std::to_string(limits::trace_backfill_ms_max) + "ms";
  const auto settings = read_trace_settings(texts);
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->backfill_ms, limits::trace_backfill_ms_max);
  texts.backfill = std::to_string(limits::trace_backfill_ms_max + 1) + "ms";
  EXPECT_FALSE(read_trace_settings(texts));
}

TEST_F(FileLimits, OfTheNamesOfFilesThatAreLeftOut) {
  const auto text_of = [](std::size_t bytes) {
    return left_out_text({std::string(bytes - 1, 'x')});  // and a line break
  };
  EXPECT_EQ(text_of(limits::left_out_bytes_max).size(), limits::left_out_bytes_max);
  EXPECT_EQ(text_of(limits::left_out_bytes_max).find("[cut: "), std::string::npos);
  const std::string beyond = text_of(limits::left_out_bytes_max + 1);
  EXPECT_LE(beyond.size(), limits::left_out_bytes_max);
  EXPECT_NE(beyond.find("[cut: "), std::string::npos);
}

TEST_F(FileLimits, OfAFileThatIsCommittedAndOfTheLargerOnesThatAreNamed) {
  const std::filesystem::path repository = make_repository(scratch_.path() / "repository");
  EXPECT_EQ(committed_file_bytes_max(repository, {}).value(), limits::committed_file_bytes_max);
  std::vector<std::string> untracked;
  const auto large = [&](std::uint64_t bytes_max) {
    const auto found = large_untracked_files(repository, untracked, bytes_max, {});
    EXPECT_TRUE(found) << found.error();
    return found ? found->size() : 0;
  };
  for (std::size_t file = 0; file <= limits::large_files_max; ++file) {
    untracked.push_back("file" + std::to_string(file));
    write(repository / untracked.back(), 10);
    if (file + 1 == limits::large_files_max) {
      EXPECT_EQ(large(10), 0U) << "they are at the limit of a file";
      EXPECT_EQ(large(9), limits::large_files_max);
    }
  }
  EXPECT_EQ(large(9), limits::large_files_max) << "one more isn't named";
}

TEST_F(FileLimits, OfTheSubmodulesOfAWorktree) {
  const std::filesystem::path repository = make_repository(scratch_.path() / "repository");
  const auto add = [&](std::size_t first, std::size_t count) {
    std::vector<std::string> words{"update-index", "--add"};
    for (std::size_t submodule = first; submodule < first + count; ++submodule) {
      words.emplace_back("--cacheinfo");
      words.push_back("160000," + std::string(40, 'a') + ",s" + std::to_string(submodule));
    }
    run_git(repository, words);
  };
  add(0, limits::submodules_max);
  const auto links = submodule_links(repository, {}, scratch_.path());
  ASSERT_TRUE(links) << links.error();
  EXPECT_EQ(links->size(), limits::submodules_max);
  add(limits::submodules_max, 1);
  const auto beyond = submodule_links(repository, {}, scratch_.path());
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error(),
            "there are more than " + std::to_string(limits::submodules_max) + " submodules");
}

// Neither file is a certificate; only the second one is refused for its size.
TEST_F(FileLimits, OfACertificate) {
  const std::string key = write(scratch_.path() / "key", 1);
  const std::string too_large = "it is larger than " + std::to_string(tls_file_bytes_max);
  const auto at_limit =
      read_tls_identity(write(scratch_.path() / "at_limit", tls_file_bytes_max), key);
  ASSERT_FALSE(at_limit);
  EXPECT_EQ(at_limit.error().find(too_large), std::string::npos) << at_limit.error();
  const auto beyond =
      read_tls_identity(write(scratch_.path() / "beyond", tls_file_bytes_max + 1), key);
  ASSERT_FALSE(beyond);
  EXPECT_NE(beyond.error().find(too_large), std::string::npos) << beyond.error();
}

TEST_F(FileLimits, OfTheFilesThatNameChecks) {
  write(scratch_.path() / "AGENTS.md", instructions_bytes_max);
  const auto text = read_in_directory(scratch_.path(), "AGENTS.md");
  ASSERT_TRUE(text) << text.error();
  EXPECT_EQ((*text)->size(), instructions_bytes_max);
  write(scratch_.path() / "AGENTS.md", instructions_bytes_max + 1);
  EXPECT_FALSE(read_in_directory(scratch_.path(), "AGENTS.md"));
}

// A line break and blanks may follow the object.
TEST_F(FileLimits, OfTheStoredJson) {
  const std::string object = boost::json::serialize(to_json(ShimResult{}));
  const auto read = [&](std::size_t bytes) {
    const std::filesystem::path path = scratch_.path() / "result.json";
    write_text(path, object + std::string(bytes - object.size(), ' '));
    return read_stored_json<ShimResult>(path);
  };
  const auto at_limit = read(stored_json_bytes_max);
  EXPECT_TRUE(at_limit) << at_limit.error().message;
  const auto beyond = read(stored_json_bytes_max + 1);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, StoreError::Kind::io);
}

TEST_F(FileLimits, OfTheRetentionOfTheLog) {
  RetentionTexts texts;
  texts.archive = (scratch_.path() / "archive").string();
  texts.key = (scratch_.path() / "audit.key").string();
  const std::string key = NoteSigner::generate("example.com/box").private_text() + "\n";
  const auto problem_of = [&](std::int64_t older_than_ms, std::int64_t failed_runs_ms,
                              std::size_t key_bytes) {
    texts.older_than = std::to_string(older_than_ms) + "ms";
    texts.failed_runs = std::to_string(failed_runs_ms) + "ms";
    write(texts.key, key_bytes, key);
    const auto settings = read_retention_settings(texts, scratch_.path() / "data");
    return settings ? std::string() : settings.error().substr(0, settings.error().find(':'));
  };
  constexpr std::int64_t least = limits::retention_age_ms_min;
  constexpr std::int64_t most = limits::retention_age_ms_max;
  constexpr std::size_t bytes = limits::signing_key_bytes_max;
  EXPECT_EQ(problem_of(least, most, bytes), "");
  EXPECT_EQ(problem_of(most, 0, bytes), "");
  EXPECT_TRUE(problem_of(least - 1, most, bytes).starts_with("retention.older_than"));
  EXPECT_TRUE(problem_of(most + 1, most, bytes).starts_with("retention.older_than"));
  EXPECT_TRUE(problem_of(least, most + 1, bytes).starts_with("retention.failed_runs"));
  EXPECT_EQ(problem_of(least, most, bytes + 1), "retention.key");
}

}  // namespace
}  // namespace signalbox
