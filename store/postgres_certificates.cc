#include "store/postgres_certificates.h"

#include <algorithm>

#include <openssl/x509_vfy.h>

#include "store/libpq_library.h"

namespace signalbox {

PostgresCertificates::~PostgresCertificates() {
  for (ssl_st* const session : sessions_) library_.free_session(session);
}

void PostgresCertificates::note_session(pg_conn* connection) {
  const bool is_able = library_.keep_session != nullptr && library_.free_session != nullptr &&
                       library_.verify_result != nullptr && library_.verify_error != nullptr;
  if (!is_able) return;
  auto* const session = static_cast<ssl_st*>(library_.sslStruct(connection, "OpenSSL"));
  if (session == nullptr || std::ranges::find(sessions_, session) != sessions_.end()) return;
  if (library_.keep_session(session) == 1) sessions_.push_back(session);
}

std::string PostgresCertificates::explained(std::string_view line) {
  std::string text(line);
  if (line.find("certificate verify failed") == std::string_view::npos) return text;
  while (explained_ < sessions_.size()) {
    const long result = library_.verify_result(sessions_[explained_++]);
    if (result != X509_V_OK) return text + ": " + library_.verify_error(result);
  }
  return text;
}

}  // namespace signalbox
