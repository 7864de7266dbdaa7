// `signalbox access issue --pair`: the code on the terminal is read by another program than the one
// that made it, and whatever is wrong is said before a token is issued.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "server/text/time_text.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class CliPairing : public CliTest {
 protected:
  static constexpr const char* service = "https://box.example.org:8443";

  // Returns the words that issue a token for a phone, with more of them at the end.
  [[nodiscard]] std::string pairing(const std::string& name, const std::string& more = {}) const {
    return std::string(SIGNALBOX_BINARY) + " access issue " + name + " --pair " + service +
           " --data " + server_.data().string() + " " + more;
  }
  // Runs a command on a pseudo-terminal of this size, with script(1) of util-linux.
  static Output on_terminal_of(int columns, int rows, const std::string& command,
                               std::vector<std::string> environment = {"NO_COLOR="}) {
    environment.emplace_back("TERM=xterm");
    const std::string sized =
        "stty cols " + std::to_string(columns) + " rows " + std::to_string(rows) + "; " + command;
    return run_process({"script", "--quiet", "--return", "--command", sized, "/dev/null"},
                       environment);
  }
  // Returns what a camera reads on a terminal whose own colours are "dark" or "light".
  std::string read_code(const std::string& shown, const std::string& terminal) const {
    const std::string file = (scratch_.path() / "shown").string();
    write_text(file, shown);
    const Output read =
        shell("'" SIGNALBOX_PYTHON "' '" SIGNALBOX_SOURCE_DIR "/tests/scenarios/qr_reader.py' " +
              terminal + " <shown");
    EXPECT_EQ(read.exit_code, 0) << read.err << shown;
    return read.out.substr(0, read.out.find('\n'));
  }
  // Returns the address that was printed.
  static std::string address_in(const std::string& shown) {
    const std::size_t begin = shown.find(std::string(service) + "/console/#t=sbx_");
    if (begin == std::string::npos) return "no address: " + shown;
    return shown.substr(begin, shown.find_first_of("\r\n", begin) - begin);
  }
  [[nodiscard]] json::array tokens() const {
    return result({"access", "list"}).at("tokens").as_array();
  }
  // Expects the secret of an address in no file of the server, and in none of its messages.
  void expect_secret_of_nowhere(const std::string& address) const {
    const std::string secret = address.substr(address.find("sbx_") + 4);
    EXPECT_EQ(secret.size(), 64U);
    for (const auto& each : std::filesystem::recursive_directory_iterator(server_.data())) {
      if (!each.is_regular_file()) continue;
      EXPECT_EQ(content_of(each.path()).find(secret), std::string::npos) << each.path();
    }
    EXPECT_EQ(server_.messages().find(secret), std::string::npos);
  }
};

TEST_F(CliPairing, TheCodeIsTheAddressThatIsPrinted) {  // C8
  const std::vector<std::string> plain{"NO_COLOR=1"};
  const Output coloured = on_terminal_of(100, 40, pairing("phone"));
  ASSERT_EQ(coloured.exit_code, 0) << coloured.out;
  const std::string address = address_in(coloured.out);
  EXPECT_EQ(read_code(coloured.out, "dark"), address);
  EXPECT_EQ(read_code(coloured.out, "light"), address) << "whatever the terminal's colours are";
  const Output uncoloured = on_terminal_of(49, 26, pairing("second"), plain);
  EXPECT_EQ(uncoloured.out.find('\x1b'), std::string::npos) << uncoloured.out;
  EXPECT_EQ(uncoloured.out.find("this terminal"), std::string::npos) << uncoloured.out;
  EXPECT_EQ(read_code(uncoloured.out, "dark"), address_in(uncoloured.out));
  EXPECT_NE(address_in(uncoloured.out), address);
  EXPECT_EQ(std::min(coloured.out.find(address), coloured.out.find("█")),
            coloured.out.find(address))
      << "what scrolls away at the top is never the code";

  ASSERT_EQ(tokens().size(), 2U);
  const json::object phone = tokens().front().as_object();
  EXPECT_EQ(text(phone, "name"), "phone");
  EXPECT_EQ(text(phone, "role"), "approver");
  const auto issued = parse_time(text(phone, "issued_at"));
  const auto expires = parse_time(text(phone, "expires_at"));
  ASSERT_TRUE(issued && expires);
  EXPECT_NEAR(static_cast<double>(*expires - *issued) / 1e9, 7.0 * 24 * 3600, 60);
  expect_secret_of_nowhere(address);

  // What ends it is said, and can be pasted.
  const std::size_t begin =
      coloured.out.find("signalbox --data " + server_.data().string() + " access revoke ");
  ASSERT_NE(begin, std::string::npos) << coloured.out;
  const Output revoked =
      paste(coloured.out.substr(begin, coloured.out.find_first_of("\r\n", begin) - begin));
  EXPECT_EQ(revoked.out, "revoked\n") << revoked.err;
}

TEST_F(CliPairing, WithoutATerminalTheAddressIsAlone) {  // C8
  const Output piped =
      server_.cli({"access", "issue", "a phone", "--pair", "https://box.example.org/console",
                   "--role", "operator", "--expires-in", "1h"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_TRUE(piped.out.starts_with("https://box.example.org/console/#t=sbx_")) << piped.out;
  EXPECT_EQ(std::count(piped.out.begin(), piped.out.end(), '\n'), 1) << piped.out;
  EXPECT_NE(piped.err.find("drawn on a terminal, or with --full"), std::string::npos) << piped.err;
  EXPECT_NE(piped.err.find("revoke 'a phone'"), std::string::npos) << piped.err;
  EXPECT_EQ(text(tokens().front().as_object(), "role"), "operator");
  const Output full =
      server_.cli({"access", "issue", "second", "--full", "--pair", "https://[2001:db8::1]/"});
  EXPECT_TRUE(full.out.starts_with("https://[2001:db8::1]/console/#t=sbx_")) << full.out;
  EXPECT_EQ(read_code(full.out, "dark"), full.out.substr(0, full.out.find('\n')));
}

TEST_F(CliPairing, ProgramsGetTheAddressOnce) {  // C8
  const std::vector<std::string> words{"access", "issue",  "phone",        "--pair",
                                       service,  "--json", "--command-id", "once"};
  const Output issued = server_.cli(words);
  EXPECT_EQ(issued.exit_code, 0);
  EXPECT_EQ(issued.err, "");
  const json::object token = one_object(issued).at("result").as_object();
  EXPECT_EQ(text(token, "address"), std::string(service) + "/console/#t=" + text(token, "secret"));
  const Output again = server_.cli(words);
  EXPECT_EQ(again.exit_code, 1) << again.out;
  EXPECT_FALSE(one_object(again).at("result").as_object().contains("address")) << again.out;
  const Output shown = on_terminal_of(100, 40, pairing("phone", "--command-id once"));
  EXPECT_EQ(shown.exit_code, 1) << shown.out;
  EXPECT_EQ(shown.out.find("#t="), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("█"), std::string::npos) << shown.out;
}

TEST_F(CliPairing, ATerminalThatIsTooSmallIsSaid) {  // C8
  const Output narrow = on_terminal_of(48, 40, pairing("narrow"));
  EXPECT_EQ(narrow.exit_code, 0) << narrow.out;
  EXPECT_NE(address_in(narrow.out).find("sbx_"), std::string::npos) << narrow.out;
  EXPECT_EQ(narrow.out.find("█"), std::string::npos) << narrow.out;
  EXPECT_NE(narrow.out.find("49 columns wide"), std::string::npos) << narrow.out;
  const Output low = on_terminal_of(80, 25, pairing("low"));
  EXPECT_NE(low.out.find("has 25 lines, and this"), std::string::npos) << low.out;
  EXPECT_EQ(read_code(low.out, "dark"), address_in(low.out)) << "it may be made higher";
  const Output full = on_terminal_of(48, 40, pairing("full", "--full"));
  EXPECT_EQ(read_code(full.out, "dark"), address_in(full.out));
}

TEST_F(CliPairing, AnotherAddressThanOneOfAConsoleOverTlsIsRefused) {  // C8
  struct Wrong {
    const char* url;
    const char* why;
    const char* next;  // what the refusal says to try
  };
  for (const Wrong& each :
       {Wrong{"http://box.example.org:8443", "without TLS", "--pair https://box.example.org:8443"},
        Wrong{"http://127.0.0.1:7070/", "without TLS", "--pair https://127.0.0.1:7070"},
        Wrong{"https://me:pa55@box/", "no user or password", "--pair https://box"},
        Wrong{"me:pa55@box", "such as https://box.example.org:8443", "--help"},
        Wrong{"https://box/?page=inbox", "no `?` or `#`", "--pair https://box"},
        Wrong{"https://box/console/#t=x", "no `?` or `#`", "--pair https://box"},
        Wrong{"https://box/v1/runs", "no path but", "--pair https://box"},
        Wrong{"https://box:0", "its port", "--help"},
        Wrong{"https://box:99999", "its port", "--help"},
        Wrong{"https://box:", "its port", "--help"}, Wrong{"https://", "not https://", "--help"},
        Wrong{"https://box;reboot", "not https://box;reboot", "--help"},
        Wrong{"box.example.org:8443", "not box.example.org:8443", "--help"},
        Wrong{"", "empty", "--help"}}) {
    const Output refused = server_.cli({"access", "issue", "phone", "--json", "--pair", each.url});
    EXPECT_EQ(refused.exit_code, 2) << each.url << refused.out;
    EXPECT_EQ(code_of(refused), "USAGE") << each.url;
    const json::object error = one_object(refused).at("error").as_object();
    EXPECT_NE(text(error, "message").find(each.why), std::string::npos) << refused.out;
    EXPECT_EQ(refused.out.find("pa55"), std::string::npos) << refused.out;
    const json::value& next = error.at("data").at("next_commands");
    EXPECT_NE(json::serialize(next).find(each.next), std::string::npos) << refused.out;
  }
  const Output runner =
      server_.cli({"access", "issue", "phone", "--role", "runner", "--pair", service});
  EXPECT_EQ(runner.exit_code, 2);
  EXPECT_NE(runner.err.find("a runner's token can't open"), std::string::npos) << runner.err;
  const Output no_role = server_.cli({"access", "issue", "phone"});
  EXPECT_EQ(no_role.exit_code, 2);
  EXPECT_NE(no_role.err.find("--role is required"), std::string::npos) << no_role.err;
  EXPECT_TRUE(tokens().empty()) << "none is issued before all of it is right";
  const Output itself =
      server_.cli({"access", "issue", "phone", "--pair", "https://localhost:8443"});
  EXPECT_NE(itself.err.find("To a phone this address is the phone itself"), std::string::npos);
}

// Another file of the library's name comes first, and isn't one.
TEST_F(CliPairing, WithoutTheLibraryNoTokenIsIssuedForACode) {  // C8
  write_text(scratch_.path() / "libqrencode.so.4", "");
  const std::string place = "LD_LIBRARY_PATH=" + scratch_.path().string();
  const Output missing = on_terminal_of(100, 40, pairing("phone"), {place});
  EXPECT_EQ(missing.exit_code, 74) << missing.out;
  EXPECT_NE(missing.out.find("Debian has it in libqrencode4"), std::string::npos) << missing.out;
  EXPECT_NE(missing.out.find("apt install libqrencode4"), std::string::npos) << missing.out;
  EXPECT_TRUE(tokens().empty());
  const Output piped = server_.cli({"access", "issue", "phone", "--pair", service}, {place});
  EXPECT_EQ(piped.exit_code, 0) << "the address needs none: " << piped.err;
}

}  // namespace
}  // namespace signalbox
