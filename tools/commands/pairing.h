// Pairs a phone with the console: an access token is issued, and the address that has it is shown
// as a QR code, which the phone's camera reads.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"
#include "tools/cli/qr_code.h"

namespace signalbox {

class Pairing {
 public:
  // What the token of a phone may do, and how long, unless somebody says otherwise.
  static constexpr const char* role = "approver";
  static constexpr const char* expires_in = "7d";

  // Takes the address of the service, such as "https://box.example.org:8443", and the params of
  // `access.issue`. A usage error if that address can't be one of a console over TLS, or the role
  // opens none. Where a code will be drawn, IO_FAILED if that isn't possible: no token is issued
  // yet.
  static Called<Pairing> prepare(const Invocation& invocation, const std::string& url,
                                 const boost::json::object& params);

  // Adds the `address` that a phone opens to the result of `access.issue`, if that has a secret.
  void add_address(boost::json::object& issued) const;

  // Writes for people whose token the result has, until when, and what to know about the address.
  // The command that ends it has the options that were typed.
  void announce(const boost::json::object& issued, const ConnectionOptions& typed) const;
  // Returns the address, and the code below it where one is drawn.
  [[nodiscard]] std::string view(const boost::json::object& issued, const Terminal& terminal) const;

 private:
  Pairing(std::string page, bool is_for_itself)
      : page_(std::move(page)), is_for_itself_(is_for_itself) {}

  std::string page_;                  // https://box.example.org:8443/console/
  bool is_for_itself_;                // a host that is the phone itself, to the phone
  std::optional<QrEncoder> encoder_;  // none: the address alone is printed
};

}  // namespace signalbox
