#include "store/libpq_library.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>
#include <type_traits>

namespace signalbox {
namespace {

constexpr const char* libpq_file = "libpq.so.5";

std::string libpq_loader_error() {
  const char* const why = ::dlerror();
  return "libpq can't be loaded (Debian has it in libpq5): " +
         std::string(why == nullptr ? libpq_file : why);
}

tl::expected<LibpqLibrary, std::string> load_libpq() {
  void* const file = ::dlopen(libpq_file, RTLD_LAZY | RTLD_LOCAL);
  if (file == nullptr) return tl::unexpected(libpq_loader_error());
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    complete = complete && function != nullptr;
  };
  LibpqLibrary library;
  find(library.conninfoParse, "PQconninfoParse");
  find(library.conninfoFree, "PQconninfoFree");
  find(library.freemem, "PQfreemem");
  find(library.connectStartParams, "PQconnectStartParams");
  find(library.connectPoll, "PQconnectPoll");
  find(library.finish, "PQfinish");
  find(library.status, "PQstatus");
  find(library.socket, "PQsocket");
  find(library.errorMessage, "PQerrorMessage");
  find(library.setErrorVerbosity, "PQsetErrorVerbosity");
  find(library.connectionNeedsPassword, "PQconnectionNeedsPassword");
  find(library.serverVersion, "PQserverVersion");
  find(library.setnonblocking, "PQsetnonblocking");
  find(library.setNoticeReceiver, "PQsetNoticeReceiver");
  find(library.sendQueryParams, "PQsendQueryParams");
  find(library.flush, "PQflush");
  find(library.consumeInput, "PQconsumeInput");
  find(library.isBusy, "PQisBusy");
  find(library.getResult, "PQgetResult");
  find(library.clear, "PQclear");
  find(library.resultStatus, "PQresultStatus");
  find(library.resultErrorField, "PQresultErrorField");
  find(library.ntuples, "PQntuples");
  find(library.nfields, "PQnfields");
  find(library.getisnull, "PQgetisnull");
  find(library.getvalue, "PQgetvalue");
  find(library.getlength, "PQgetlength");
  if (!complete) return tl::unexpected(libpq_loader_error());
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
