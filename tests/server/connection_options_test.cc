#include "tools/cli/connection_options.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

const ConnectionOptions typed_data = {"box", "", "", "", ""};
const ConnectionOptions typed_server = {"", "", "tls://box:7070", "our ca.pem", "my.token"};

TEST(ConnectionOptions, AreRepeatedBehindTheProgramsName) {
  EXPECT_EQ(with_connection("signalbox run list", typed_data), "signalbox --data box run list");
  EXPECT_EQ(with_connection("signalbox run list", typed_server),
            "signalbox --server tls://box:7070 --ca 'our ca.pem' --token-file my.token run list");
  EXPECT_EQ(with_connection("signalbox run list", {}), "signalbox run list");
}

TEST(ConnectionOptions, AreRepeatedInCommandsWithinASentence) {
  EXPECT_EQ(
      with_connection("`signalbox runner drain --off a`, or `signalbox runner evict a`",
                      typed_data),
      "`signalbox --data box runner drain --off a`, or `signalbox --data box runner evict a`");
  EXPECT_EQ(with_connection("a person has to decide: signalbox run why 1", typed_data),
            "a person has to decide: signalbox --data box run why 1");
  EXPECT_EQ(with_connection("the signalbox server is away", typed_data),
            "the signalbox server is away");
  EXPECT_EQ(with_connection("df -h box", typed_data), "df -h box");
}

TEST(ConnectionOptions, ACommandThatNamesItsServiceStaysAsItIs) {
  for (const char* command :
       {"signalbox serve --data box", "signalbox run start --help", "signalbox status --socket=s",
        "signalbox run cancel --all --data other", "signalbox audit verify a --key k",
        "signalbox fence install . --force", "signalbox help --man"}) {
    EXPECT_EQ(with_connection(command, typed_data), command);
  }
  EXPECT_EQ(with_connection("signalbox run list --text 'a --data b'", typed_data),
            "signalbox --data box run list --text 'a --data b'");
}

// It reads the data directory of the machine where it is typed.
TEST(ConnectionOptions, ALocalCommandGetsNoServer) {
  for (const char* command : {"signalbox replay --verify", "signalbox audit retain --older-than 1d",
                              "signalbox cell seed DIR", "signalbox serve",
                              "signalbox access issue my-operator --role operator"}) {
    EXPECT_EQ(with_connection(command, typed_server), command);
  }
  EXPECT_EQ(with_connection("signalbox replay --verify", {"box", "s.sock", "", "", ""}),
            "signalbox --data box replay --verify");
  EXPECT_EQ(with_connection("signalbox audit redact 7", {"box", "s.sock", "", "", ""}),
            "signalbox --data box --socket s.sock audit redact 7");
  EXPECT_EQ(with_connection("signalbox audit adopt 'k'", {"", "s.sock", "", "", ""}),
            "signalbox --socket s.sock audit adopt 'k'");
}

}  // namespace
}  // namespace signalbox
