// The tables that a killed plan of a retention has left in projections/ have texts of the log: they
// go with a text that is erased, and at each start. All with the real binary.
#include <fcntl.h>

#include "store/file_descriptor.h"
#include "tests/scenarios/served_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class LeftPlansTest : public ServedRetentionTest {
 protected:
  static constexpr const char* text_of_log = "e5Hd2sVbQ1xT7mZr5NcYh2LfJg8PaEu6oRiB4tYp";

  [[nodiscard]] fs::path projections() const { return server_.data() / "projections"; }
  void leave(const char* scratch) const {
    fs::create_directories(projections() / scratch);
    write_text(projections() / scratch / "LOCK", "");
    write_text(projections() / scratch / "000004.log", text_of_log);
  }
  [[nodiscard]] bool has(const char* scratch) const { return fs::exists(projections() / scratch); }
  void restart() {
    server_.stop();
    server_.start();
  }
};

TEST_F(LeftPlansTest, GoWithATextThatIsErased) {  // G17
  const std::string run_id = start_run(std::string("use the key ") + text_of_log);
  const std::int64_t position =
      number(events(run_id, "RunStarted").front().as_object(), "position");
  for (const char* each : {"retention", "followed_drop", "retention-dry-run"}) leave(each);
  const json::object done =
      result({"audit", "redact", std::to_string(position), "--reason", "a key in the goal"});
  EXPECT_FALSE(done.contains("files_error")) << json::serialize(done);
  for (const char* each : {"retention", "followed_drop", "retention-dry-run"}) {
    EXPECT_FALSE(has(each)) << each;
  }
}

// A dry run of the command line has its tables open, and removes them itself.
TEST_F(LeftPlansTest, GoAtAStartUnlessTheyAreInUse) {  // G17
  for (const char* each : {"retention", "followed_drop", "retention-dry-run"}) leave(each);
  const FileDescriptor lock(
      ::open((projections() / "retention-dry-run" / "LOCK").c_str(), O_RDWR | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(::fcntl(lock.get(), F_SETLK, &whole), 0);
  restart();
  EXPECT_FALSE(has("retention"));
  EXPECT_FALSE(has("followed_drop"));
  EXPECT_TRUE(fs::exists(projections() / "retention-dry-run" / "000004.log"));
  whole.l_type = F_UNLCK;
  ASSERT_EQ(::fcntl(lock.get(), F_SETLK, &whole), 0);
  restart();
  EXPECT_FALSE(has("retention-dry-run"));
}

}  // namespace
}  // namespace signalbox
