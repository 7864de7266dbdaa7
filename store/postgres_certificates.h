// Why the certificates of a database aren't taken. Of whatever OpenSSL finds wrong with one, libpq
// says only that it "verify failed".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;  // libpq's PGconn
struct ssl_st;   // a TLS session of OpenSSL

namespace signalbox {

struct LibpqLibrary;

// The TLS sessions of one connection that is being made. It may try several addresses.
class PostgresCertificates {
 public:
  // `library` outlives the object.
  explicit PostgresCertificates(const LibpqLibrary& library) : library_(library) {}
  PostgresCertificates(const PostgresCertificates&) = delete;
  PostgresCertificates& operator=(const PostgresCertificates&) = delete;
  ~PostgresCertificates();

  // Keeps the session that the connection has at present, if it has one. Called before each step
  // of making it: after the step in which a session fails, libpq has none.
  void note_session(pg_conn* connection);

  // Returns `line` of the connection's messages, which are asked for in their order, with the
  // reason behind it, as OpenSSL words it, if it says that a certificate isn't taken.
  std::string explained(std::string_view line);

 private:
  const LibpqLibrary& library_;
  std::vector<ssl_st*> sessions_;  // each with a reference of its own
  std::size_t explained_ = 0;      // so many of them were asked for
};

}  // namespace signalbox
