// What answers a command need not be a Signalbox server: answers of another shape, terminal
// controls in them, and messages without end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

// Answers the first line of each connection with a text, `repeats` times, and closes it.
class ForeignServer {
 public:
  explicit ForeignServer(std::string answer, int repeats = 1)
      : ForeignServer(std::vector<std::string>{std::move(answer)}, repeats) {}
  // Each connection gets the next of the texts, and all after them the last.
  explicit ForeignServer(std::vector<std::string> answers, int repeats = 1)
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this, answers = std::move(answers), repeats] { serve(answers, repeats); }) {}
  ~ForeignServer() {
    stopping_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket last(io_);  // wakes accept()
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  ForeignServer(const ForeignServer&) = delete;
  ForeignServer& operator=(const ForeignServer&) = delete;

  [[nodiscard]] Output ask(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {SIGNALBOX_BINARY, "--server",
                  "tcp://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port())});
    return run_process(std::move(words));
  }

 private:
  void serve(const std::vector<std::string>& answers, int repeats) {
    for (std::size_t count = 0; !stopping_; ++count) {
      const std::string& answer = answers[std::min(count, answers.size() - 1)];
      boost::asio::ip::tcp::socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) continue;
      std::string line;
      boost::asio::read_until(socket, boost::asio::dynamic_buffer(line), '\n', error);
      for (int sent = 0; sent < repeats && !error; ++sent) {
        boost::asio::write(socket, boost::asio::buffer(answer), error);
      }
    }
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

std::string result_of(const std::string& members) {
  return R"({"jsonrpc":"2.0","id":1,"result":{)" + members + "}}\n";
}

TEST(ForeignAnswers, OfAnotherShapeEndNoCommandByASignal) {  // P7, G14
  std::string lists;
  std::string texts;
  for (const char* name : {"events", "runs", "items", "tokens", "loops", "lines", "rows", "cards",
                           "locks", "projects", "open", "lanes", "columns", "attempts"}) {
    const std::string member = "\"" + std::string(name) + "\":";
    lists += (lists.empty() ? "" : ",") + member + "[1,\"two\",null,[3]]";
    texts += (texts.empty() ? "" : ",") + member + "\"a text\"";
  }
  for (const std::string& members : {std::string(), lists, texts}) {
    const ForeignServer server(result_of(members));
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"events"},
          {"board"},
          {"inbox"},
          {"timeline"},
          {"status"},
          {"report"},
          {"access", "list"},
          {"loop", "list"},
          {"lock", "get", "k"},
          {"lock", "list"},
          {"run", "list"},
          {"run", "logs", "01a21b58-d2a6-7fa1-9337-6fb00580c287"},
          {"tick", "list"},
          {"card", "list"},
          {"project", "list"}}) {
      const Output output = server.ask(words);
      EXPECT_GE(output.exit_code, 0) << words.back() << members;
      EXPECT_LT(output.exit_code, 128) << words.back() << members;
    }
  }
}

TEST(ForeignAnswers, ATokensIdHasNoTerminalControls) {  // G16
  const ForeignServer server(result_of(R"("id":"\u001b]0;x\u0007","secret":"")"));
  const Output output = server.ask({"access", "issue", "x", "--role", "viewer"});
  EXPECT_EQ(output.exit_code, 1) << output.err;
  EXPECT_NE(output.err.find("access revoke"), std::string::npos) << output.err;
  EXPECT_EQ(output.err.find('\x1b'), std::string::npos) << output.err;
}

TEST(ForeignAnswers, UsageThatCouldNotBeCountedYetIsToldAgain) {  // A5, P4
  const auto refusal = [](const std::string& usage) {
    return R"({"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"an old token","data":)"
           R"({"code":"STALE_TOKEN","details":{"usage":")" +
           usage + R"("},"next_commands":[]}}})" + "\n";
  };
  const ForeignServer server(std::vector<std::string>{
      refusal("not_recorded"), refusal("not_recorded"), refusal("recorded"), refusal("known")});
  const Output output = server.ask({"rpc", "station.complete", "{}", "--json"});
  EXPECT_EQ(output.exit_code, 1) << output.out << output.err;
  EXPECT_NE(output.out.find(R"("usage":"recorded")"), std::string::npos) << output.out;
}

TEST(ForeignAnswers, MessagesWithoutAnAnswerAreReadUpToABound) {  // P8
  const ForeignServer server(R"({"jsonrpc":"2.0","method":"event","params":{"text":")" +
                                 std::string(1 << 20, 'x') + "\"}}\n",
                             1000);
  const Output output = server.ask({"status"});
  EXPECT_EQ(output.exit_code, 69) << output.err;
  EXPECT_NE(output.err.find("no answer"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace signalbox
