// libcurl, loaded when it is first needed. It needs 25 more libraries (LDAP, Kerberos, GnuTLS, …),
// and together they took a third of the time in which the program starts, for every command. Only
// remote jobs and the export of traces send requests.
#pragma once

#include <string>

#include <curl/curl.h>
#include <tl/expected.hpp>

namespace signalbox {

// The functions of libcurl that are used here, under their names without `curl_`.
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_url) url = nullptr;
  decltype(&::curl_url_cleanup) url_cleanup = nullptr;
  decltype(&::curl_url_get) url_get = nullptr;
  decltype(&::curl_url_set) url_set = nullptr;
  decltype(&::curl_free) free = nullptr;
};

// Returns the library, which stays loaded, or why it can't be loaded, for a person; the next call
// tries again then. The first call blocks on the disk. Any thread.
tl::expected<const CurlLibrary*, std::string> curl_library();

}  // namespace signalbox
