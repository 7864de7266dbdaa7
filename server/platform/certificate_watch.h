// Says in the server's log when its certificate ends: when it is loaded, when its state changes,
// and once a day while something is wrong with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/platform/certificate.h"
#include "server/platform/clock.h"

namespace signalbox {

// When to say something about a certificate. Pure, so that tests need no clock.
class CertificateNotices {
 public:
  // Returns whether it should be said now. Called again and again.
  bool is_due(CertificateState state, std::int64_t wall_ns);

 private:
  std::optional<CertificateState> said_;
  std::int64_t said_at_ns_ = 0;
};

// All calls come from the io_context's thread.
class CertificateWatch {
 public:
  // `say` is called with each sentence; `ok` is false if something is to be done.
  CertificateWatch(boost::asio::io_context& io, const Clock& clock,
                   std::function<void(bool ok, const std::string& text)> say);

  // Watches this certificate from now on, instead of the one before.
  void watch(Certificate certificate);
  // Stops watching.
  void cancel() { timer_.cancel(); }

 private:
  void check();

  boost::asio::steady_timer timer_;
  const Clock& clock_;
  const std::function<void(bool ok, const std::string& text)> say_;
  std::optional<Certificate> certificate_;
  CertificateNotices notices_;
};

}  // namespace signalbox
