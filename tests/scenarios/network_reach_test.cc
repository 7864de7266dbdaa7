// Where a service can be reached: at no address of a network unless somebody says so.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

// Returns the inodes of the sockets that a process has, as the kernel names them: "socket:[7]".
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(each.path(), error).string();
    if (target.starts_with("socket:[")) found.insert(target);
  }
  return found;
}

// Returns how many addresses of a network the process can be reached at: TCP sockets that listen,
// and UDP sockets.
std::size_t addresses_of(pid_t pid) {
  const std::set<std::string> own = sockets_of(pid);
  std::size_t found = 0;
  for (const std::string table : {"tcp", "tcp6", "udp", "udp6"}) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/net/" + table);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      std::istringstream words(line);
      const std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
      if (row.size() < 10 || !own.contains("socket:[" + row[9] + "]")) continue;
      const bool listens = row[3] == "0A";
      if (listens || table.starts_with("udp")) ++found;
    }
  }
  return found;
}

TEST(NetworkReach, IsNoneUnlessSomebodySaysListen) {  // P11
  RealServer quiet;
  quiet.start();
  EXPECT_FALSE(sockets_of(quiet.pid()).empty()) << "its own socket";
  EXPECT_EQ(addresses_of(quiet.pid()), 0U);
  RealServer open({"--listen", "127.0.0.1:0"});
  open.start();
  EXPECT_EQ(addresses_of(open.pid()), 1U);
}

// As that of a tunnel that comes up after the service, or one that somebody tries something at.
TEST(NetworkReach, AnAddressThatIsTakenIsTriedAgain) {  // G13
  auto occupant = std::make_unique<RealServer>(std::vector<std::string>{"--listen", "127.0.0.1:0"});
  occupant->start();
  const std::string messages = occupant->messages();
  const std::string address = messages.substr(
      messages.find("127.0.0.1:"),
      messages.find_first_of(" \n", messages.find("127.0.0.1:")) - messages.find("127.0.0.1:"));
  RealServer server({"--listen", address});
  server.start();
  EXPECT_TRUE(server.logs("it is tried again every second")) << server.messages();
  EXPECT_EQ(addresses_of(server.pid()), 0U);
  // Nobody reads a log at night.
  const auto inbox = [&] { return server.cli({"inbox", "--json"}).out; };
  const auto metrics = [&] {
    return run_process({"curl", "--silent", "--show-error", "--fail", "--unix-socket",
                        (server.data() / "signalbox.sock").string(), "http://localhost/metrics"})
        .out;
  };
  const std::string metric = "\nsignalbox_service_conditions{condition=\"listen\"} ";
  EXPECT_NE(inbox().find("\"service/listen\""), std::string::npos) << inbox();
  EXPECT_NE(metrics().find(metric + "1\n"), std::string::npos) << metrics();
  EXPECT_NE(server.cli({"status"}).out.find("\nlisten "), std::string::npos);
  occupant.reset();
  EXPECT_TRUE(eventually([&] { return addresses_of(server.pid()) == 1; })) << server.messages();
  EXPECT_TRUE(eventually([&] { return inbox().find("\"service/listen\"") == std::string::npos; }))
      << inbox();
  EXPECT_NE(metrics().find(metric + "0\n"), std::string::npos) << metrics();
  EXPECT_EQ(server.stop(), 0) << server.messages();
}

}  // namespace
}  // namespace signalbox
