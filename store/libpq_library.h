// libpq, loaded when it is first needed. It needs more libraries (Kerberos, LDAP, …), and a server
// without a shared log needs none of them.
#pragma once

#include <string>

#include <libpq-fe.h>
#include <tl/expected.hpp>

struct ssl_st;  // a TLS session of OpenSSL

namespace signalbox {

// The functions of libpq that are used here, under their names without `PQ`.
struct LibpqLibrary {
  decltype(&::PQconninfoParse) conninfoParse = nullptr;
  decltype(&::PQconninfoFree) conninfoFree = nullptr;
  decltype(&::PQfreemem) freemem = nullptr;
  decltype(&::PQconnectStartParams) connectStartParams = nullptr;
  decltype(&::PQconnectPoll) connectPoll = nullptr;
  decltype(&::PQfinish) finish = nullptr;
  decltype(&::PQstatus) status = nullptr;
  decltype(&::PQsocket) socket = nullptr;
  decltype(&::PQerrorMessage) errorMessage = nullptr;
  decltype(&::PQsetErrorVerbosity) setErrorVerbosity = nullptr;
  decltype(&::PQconnectionNeedsPassword) connectionNeedsPassword = nullptr;
  decltype(&::PQserverVersion) serverVersion = nullptr;
  decltype(&::PQbackendPID) backendPID = nullptr;
  decltype(&::PQsetnonblocking) setnonblocking = nullptr;
  decltype(&::PQsetNoticeReceiver) setNoticeReceiver = nullptr;
  decltype(&::PQsendQueryParams) sendQueryParams = nullptr;
  decltype(&::PQflush) flush = nullptr;
  decltype(&::PQconsumeInput) consumeInput = nullptr;
  decltype(&::PQisBusy) isBusy = nullptr;
  decltype(&::PQgetResult) getResult = nullptr;
  decltype(&::PQclear) clear = nullptr;
  decltype(&::PQresultStatus) resultStatus = nullptr;
  decltype(&::PQresultErrorField) resultErrorField = nullptr;
  decltype(&::PQntuples) ntuples = nullptr;
  decltype(&::PQnfields) nfields = nullptr;
  decltype(&::PQftype) ftype = nullptr;
  decltype(&::PQgetisnull) getisnull = nullptr;
  decltype(&::PQgetvalue) getvalue = nullptr;
  decltype(&::PQgetlength) getlength = nullptr;
  decltype(&::PQsslStruct) sslStruct = nullptr;
  // Of the OpenSSL that libpq has loaded; nullptr if it uses none.
  int (*keep_session)(ssl_st* session) = nullptr;             // SSL_up_ref
  void (*free_session)(ssl_st* session) = nullptr;            // SSL_free
  long (*verify_result)(const ssl_st* session) = nullptr;     // SSL_get_verify_result
  const char* (*verify_error)(long verify_result) = nullptr;  // X509_verify_cert_error_string
};

// Returns the library, which stays loaded, or why it can't be loaded, for a person; the next call
// tries again then. The first call blocks on the disk. Any thread.
tl::expected<const LibpqLibrary*, std::string> libpq_library();

}  // namespace signalbox
