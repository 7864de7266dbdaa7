#include "server/platform/curl_library.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>
#include <type_traits>

namespace signalbox {
namespace {

constexpr const char* curl_file = "libcurl.so.4";

std::string loader_error() {
  const char* const why = ::dlerror();
  return "libcurl can't be loaded (Debian has it in libcurl4): " +
         std::string(why == nullptr ? curl_file : why);
}

tl::expected<CurlLibrary, std::string> load_curl() {
  void* const file = ::dlopen(curl_file, RTLD_LAZY | RTLD_LOCAL);
  if (file == nullptr) return tl::unexpected(loader_error());
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    complete = complete && function != nullptr;
  };
  CurlLibrary library;
  decltype(&::curl_global_init) global_init = nullptr;
  find(global_init, "curl_global_init");
  find(library.easy_init, "curl_easy_init");
  find(library.easy_cleanup, "curl_easy_cleanup");
  find(library.easy_setopt, "curl_easy_setopt");
  find(library.easy_perform, "curl_easy_perform");
  find(library.easy_getinfo, "curl_easy_getinfo");
  find(library.easy_strerror, "curl_easy_strerror");
  find(library.slist_append, "curl_slist_append");
  find(library.slist_free_all, "curl_slist_free_all");
  find(library.url, "curl_url");
  find(library.url_cleanup, "curl_url_cleanup");
  find(library.url_get, "curl_url_get");
  find(library.url_set, "curl_url_set");
  find(library.free, "curl_free");
  if (!complete) return tl::unexpected(loader_error());
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
