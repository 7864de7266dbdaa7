#include "server/platform/curl_library.h"

#include <mutex>
#include <optional>

#include "store/loaded_library.h"

namespace signalbox {
namespace {

tl::expected<CurlLibrary, std::string> load_curl() {
  LoadedLibrary file("libcurl.so.4", "libcurl4");
  CurlLibrary library;
  decltype(&::curl_global_init) global_init = nullptr;
  file.find(global_init, "curl_global_init");
  file.find(library.easy_init, "curl_easy_init");
  file.find(library.easy_cleanup, "curl_easy_cleanup");
  file.find(library.easy_setopt, "curl_easy_setopt");
  file.find(library.easy_perform, "curl_easy_perform");
  file.find(library.easy_getinfo, "curl_easy_getinfo");
  file.find(library.easy_strerror, "curl_easy_strerror");
  file.find(library.slist_append, "curl_slist_append");
  file.find(library.slist_free_all, "curl_slist_free_all");
  file.find(library.url, "curl_url");
  file.find(library.url_cleanup, "curl_url_cleanup");
  file.find(library.url_get, "curl_url_get");
  file.find(library.url_set, "curl_url_set");
  file.find(library.free, "curl_free");
  if (!file.problem().empty()) return tl::unexpected(file.problem());
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return tl::unexpected(std::string("libcurl can't be initialized"));
  }
  return library;
}

}  // namespace

tl::expected<const CurlLibrary*, std::string> curl_library() {
  static std::mutex mutex;
  static std::optional<CurlLibrary> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    const auto library = load_curl();
    if (!library) return tl::unexpected(library.error());
    loaded = *library;
  }
  return &*loaded;
}

}  // namespace signalbox
