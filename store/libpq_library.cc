#include "store/libpq_library.h"

#include <mutex>
#include <optional>

#include "store/loaded_library.h"

namespace signalbox {
namespace {

tl::expected<LibpqLibrary, std::string> load_libpq() {
  LoadedLibrary file("libpq.so.5", "libpq5");
  LibpqLibrary library;
  file.find(library.conninfoParse, "PQconninfoParse");
  file.find(library.conninfoFree, "PQconninfoFree");
  file.find(library.freemem, "PQfreemem");
  file.find(library.connectStartParams, "PQconnectStartParams");
  file.find(library.connectPoll, "PQconnectPoll");
  file.find(library.finish, "PQfinish");
  file.find(library.status, "PQstatus");
  file.find(library.socket, "PQsocket");
  file.find(library.errorMessage, "PQerrorMessage");
  file.find(library.setErrorVerbosity, "PQsetErrorVerbosity");
  file.find(library.connectionNeedsPassword, "PQconnectionNeedsPassword");
  file.find(library.serverVersion, "PQserverVersion");
  file.find(library.backendPID, "PQbackendPID");
  file.find(library.setnonblocking, "PQsetnonblocking");
  file.find(library.setNoticeReceiver, "PQsetNoticeReceiver");
  file.find(library.sendQueryParams, "PQsendQueryParams");
  file.find(library.flush, "PQflush");
  file.find(library.consumeInput, "PQconsumeInput");
  file.find(library.isBusy, "PQisBusy");
  file.find(library.getResult, "PQgetResult");
  file.find(library.clear, "PQclear");
  file.find(library.resultStatus, "PQresultStatus");
  file.find(library.resultErrorField, "PQresultErrorField");
  file.find(library.ntuples, "PQntuples");
  file.find(library.nfields, "PQnfields");
  file.find(library.ftype, "PQftype");
  file.find(library.getisnull, "PQgetisnull");
  file.find(library.getvalue, "PQgetvalue");
  file.find(library.getlength, "PQgetlength");
  file.find(library.sslStruct, "PQsslStruct");
  file.find_if_any(library.keep_session, "SSL_up_ref");
  file.find_if_any(library.free_session, "SSL_free");
  file.find_if_any(library.verify_result, "SSL_get_verify_result");
  file.find_if_any(library.verify_error, "X509_verify_cert_error_string");
  if (!file.problem().empty()) return tl::unexpected(file.problem());
  return library;
}

}  // namespace

tl::expected<const LibpqLibrary*, std::string> libpq_library() {
  static std::mutex mutex;
  static std::optional<LibpqLibrary> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    const auto library = load_libpq();
    if (!library) return tl::unexpected(library.error());
    loaded = *library;
  }
  return &*loaded;
}

}  // namespace signalbox
