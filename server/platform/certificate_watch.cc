#include "server/platform/certificate_watch.h"

#include <chrono>
#include <utility>

namespace signalbox {
namespace {

// Not as long as until the next change: a timer stands still while the machine sleeps.
constexpr std::chrono::minutes certificate_check_interval{10};
constexpr std::int64_t certificate_reminder_ns = 24LL * 60 * 60 * 1'000'000'000;

}  // namespace

bool CertificateNotices::is_due(CertificateState state, std::int64_t wall_ns) {
  const bool is_reminder =
      state != CertificateState::valid && wall_ns - said_at_ns_ >= certificate_reminder_ns;
  if (said_ == state && !is_reminder) return false;
  said_ = state;
  said_at_ns_ = wall_ns;
  return true;
}

CertificateWatch::CertificateWatch(boost::asio::io_context& io, const Clock& clock,
                                   std::function<void(bool ok, const std::string& text)> say)
    : timer_(io), clock_(clock), say_(std::move(say)) {}

void CertificateWatch::watch(Certificate certificate) {
  certificate_ = std::move(certificate);
  notices_ = {};
  check();
}

void CertificateWatch::check() {
  const std::int64_t wall_ns = clock_.wall_ns();
  const CertificateState state = state_of(*certificate_, wall_ns);
  if (notices_.is_due(state, wall_ns)) {
    say_(state == CertificateState::valid, certificate_text(*certificate_, wall_ns));
  }
  timer_.expires_after(certificate_check_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) check();
  });
}

}  // namespace signalbox
