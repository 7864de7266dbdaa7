// What is under way when the real server is stopped is answered before it ends.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/file_descriptor.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class StopAnswersTest : public CliTest {
 protected:
  // Puts a project; its git commands wait for a FIFO from then on.
  void SetUp() override {
    CliTest::SetUp();
    repository_ = make_repository(scratch_.path() / "r");
    result({"project", "put", "p", "--repository", repository_.string(), "--pipeline", pipeline()});
    fs::remove(config());
    ASSERT_EQ(::mkfifo(config().c_str(), 0600), 0);
  }
  [[nodiscard]] fs::path config() const { return repository_ / ".git" / "config"; }
  // Waits until a git command reads the FIFO. Returns its writing end.
  [[nodiscard]] FileDescriptor await_git() const {
    FileDescriptor fifo;
    await([&] {
      fifo = FileDescriptor(::open(config().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      return fifo.get() >= 0;
    });
    return fifo;
  }
  // Lets that command read what git can't use, so that the check ends at the next one: a stop waits
  // for a limited time only, and the whole check may take longer on a busy machine.
  void release(FileDescriptor fifo) {
    // Without a reader the process would get SIGPIPE.
    const FileDescriptor reader(::open(config().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const std::string text = "[\n";
    const fs::path broken = scratch_.path() / "config";
    write_text(broken.string(), text);
    fs::rename(broken, config());
    ASSERT_EQ(::write(fifo.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  fs::path repository_;
};

TEST_F(StopAnswersTest, ACheckOfAProjectIsAnsweredBeforeTheServerEnds) {  // G6, O5
  HttpClient http(server_.socket());
  const json::object request{{"jsonrpc", "2.0"},
                             {"id", 1},
                             {"method", "project.check"},
                             {"params", json::object{{"name", "p"}}}};
  http.send(http.text("POST", "/rpc", {}, json::serialize(request)));
  FileDescriptor fifo = await_git();
  ASSERT_EQ(::kill(server_.pid(), SIGTERM), 0);
  ASSERT_TRUE(server_.logs("stopping: "));
  release(std::move(fifo));
  const HttpReply reply = http.reply();
  ASSERT_EQ(reply.status, 200U) << server_.messages();
  EXPECT_NE(reply.body().find("no_repository"), std::string::npos) << reply.body();
  await([&] { return !server_.running(); });
}

}  // namespace
}  // namespace signalbox
