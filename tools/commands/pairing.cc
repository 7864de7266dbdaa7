#include "tools/commands/pairing.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <unistd.h>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "domain/try.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/server_address.h"

namespace signalbox {
namespace {

namespace json = boost::json;
namespace urls = boost::urls;

constexpr std::array<std::string_view, 4> paths{"", "/", "/console", "/console/"};

// `better` is an address to try, for the token of this name; empty: nobody knows one.
CallError wrong_address(const std::string& name, const std::string& why,
                        const std::string& better = {}) {
  return usage_error(
      "--pair is the address of the service, such as https://box.example.org:8443" +
          std::string(why.empty() ? "" : "; ") + why,
      {better.empty() ? "signalbox access issue --help"
                      : "signalbox access issue " + for_the_shell(name) + " --pair " + better});
}

// A password in the address isn't repeated.
Called<urls::url_view> address_of_service(const std::string& text, const std::string& name) {
  const auto parsed = urls::parse_uri(text);
  const bool is_web = parsed && (parsed->scheme_id() == urls::scheme::https ||
                                 parsed->scheme_id() == urls::scheme::http);
  if (!is_web || !is_host(parsed->host_address())) {
    const bool may_have_password = text.find('@') != std::string::npos;
    return tl::unexpected(wrong_address(name, may_have_password ? "" : "not " + text));
  }
  if (parsed->has_port() && !is_port_number(parsed->port())) {
    return tl::unexpected(wrong_address(name, "its port is a number from 1 to 65535"));
  }
  const std::string better = "https://" + std::string(parsed->encoded_host_and_port());
  const auto refuse = [&](const char* why) {
    return tl::unexpected(wrong_address(name, why, better));
  };
  if (parsed->scheme_id() != urls::scheme::https) {
    return refuse("without TLS (tls_certificate, tls_key) anybody on the way could read the token");
  }
  if (parsed->has_userinfo()) return refuse("it has no user or password: the token is added");
  if (parsed->has_query() || parsed->has_fragment()) {
    return refuse("it has no `?` or `#`: the token is added");
  }
  if (std::ranges::find(paths, std::string_view(parsed->encoded_path())) == paths.end()) {
    return refuse("it has no path but that of the console, /console/, which is added");
  }
  return *parsed;
}

}  // namespace

Called<Pairing> Pairing::prepare(const Invocation& invocation, const std::string& url,
                                 const json::object& params) {
  if (text_at(params, "role") == "runner") {
    return tl::unexpected(
        usage_error("--pair is for the console, which a runner's token can't open",
                    {"signalbox access issue --help"}));
  }
  const auto address = TRY(address_of_service(url, text_at(params, "name")));
  Pairing pairing("https://" + std::string(address.encoded_host_and_port()) + "/console/",
                  is_this_machine(address.host_address()));
  // Who takes the output into a file or a variable, or sends it on, wants the address.
  const bool is_drawn = terminal_of(STDOUT_FILENO).columns || invocation.full;
  if (is_drawn && !invocation.json) pairing.encoder_ = TRY(QrEncoder::load());
  return pairing;
}

void Pairing::add_address(json::object& issued) const {
  const std::string secret = text_at(issued, "secret");
  if (!secret.empty()) issued["address"] = page_ + "#t=" + secret;
}

void Pairing::announce(const json::object& issued, const ConnectionOptions& typed) const {
  const std::string name = printable(text_at(issued, "name"));
  write_message("The access token " + name + ", of the role " + text_at(issued, "role") +
                ", ends at " + clock_minutes(text_at(issued, "expires_at"), wall_clock_ns()) +
                ". Its address is shown only this once, and whoever has that has the token.\n" +
                with_connection("  to end it sooner: signalbox access revoke " +
                                    for_the_shell(name) + " --reason 'the phone is gone'\n",
                                typed));
  if (is_for_itself_) {
    write_message("To a phone this address is the phone itself: name this machine as others do.\n");
  }
  if (!encoder_) write_message("The QR code is drawn on a terminal, or with --full.\n");
}

std::string Pairing::view(const json::object& issued, const Terminal& terminal) const {
  const std::string address = text_at(issued, "address");
  if (!encoder_) return address + "\n";
  const auto code = encoder_->encode(address);
  if (!code) {
    write_message("No QR code holds an address as long as this one.\n");
    return address + "\n";
  }
  if (terminal.columns && *terminal.columns < code->columns()) {
    write_message("Its QR code is " + std::to_string(code->columns()) +
                  " columns wide, and this terminal " + std::to_string(*terminal.columns) +
                  ": make that wider, revoke this token and issue another.\n");
    return address + "\n";
  }
  if (terminal.rows && *terminal.rows <= code->rows()) {
    write_message("Its QR code has " + std::to_string(code->rows()) + " lines, and this terminal " +
                  std::to_string(*terminal.rows) +
                  ": make it higher, or its letters smaller, to see all of it.\n");
  }
  return address + "\n\n" + half_blocks(*code, terminal);
}

}  // namespace signalbox
