#include "server/platform/artifact_settings.h"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <unistd.h>

#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/platform/environment_variable.h"
#include "server/platform/http_request.h"
#include "server/platform/secret_file.h"
#include "server/text/json_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t credentials_bytes_max = 64 * 1024;
constexpr std::size_t note_bytes_max = 64 * 1024;
constexpr std::size_t prefix_bytes_max = 512;
constexpr std::string_view s3_scheme = "s3://";
constexpr const char* text_names[] = {"store", "endpoint", "region", "credentials",
                                      "certificate_authority"};

bool has_only(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

// Rules of S3: 3 to 63 lower-case letters, digits, dots and hyphens.
bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && has_only(name, "-.") && name.front() != '-' &&
         name.front() != '.' && name.find("..") == std::string_view::npos;
}

// Parts that no URL and no file system changes.
bool is_prefix(const std::string& prefix) {
  if (prefix.size() > prefix_bytes_max) return false;
  std::istringstream segments(prefix);
  for (std::string part; std::getline(segments, part, '/');) {
    if (part.empty() || part == "." || part == "..") return false;
    if (!has_only(part, "-._ABCDEFGHIJKLMNOPQRSTUVWXYZ")) return false;
  }
  return !prefix.ends_with('/');
}

tl::expected<AwsCredentials, std::string> credentials_of_environment() {
  AwsCredentials found{environment_variable(aws_variables[0]),
                       environment_variable(aws_variables[1]),
                       environment_variable(aws_variables[2])};
  if (found.key_id.empty() || found.secret.empty()) {
    return tl::unexpected(
        std::string("there are no credentials; name a file with artifacts.credentials, or set "
                    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
  }
  return found;
}

std::string trimmed_line(std::string_view text) {
  const std::size_t begins = text.find_first_not_of(" \t\r");
  if (begins == std::string_view::npos) return {};
  return std::string(text.substr(begins, text.find_last_not_of(" \t\r") - begins + 1));
}

// A value becomes part of a header field.
bool is_printable_word(const std::string& value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c <= '~'; });
}

fs::path note_of(const fs::path& data) { return data / "artifacts" / "store.json"; }

}  // namespace

std::string* artifact_text(ArtifactTexts& texts, std::string_view key, bool& is_path) {
  is_path = key == "credentials" || key == "certificate_authority";
  if (key == "store") return &texts.store;
  if (key == "endpoint") return &texts.endpoint;
  if (key == "runner_endpoint") return &texts.runner_endpoint;
  if (key == "region") return &texts.region;
  if (key == "credentials") return &texts.credentials;
  if (key == "certificate_authority") return &texts.certificate_authority;
  return nullptr;
}

tl::expected<AwsCredentials, std::string> read_aws_credentials(const std::string& path) {
  const auto text = read_secret_file(path, credentials_bytes_max);
  if (!text) return tl::unexpected("artifacts.credentials: " + text.error());
  AwsCredentials found;
  std::istringstream lines(*text);
  bool is_ours = true;
  for (std::string line; std::getline(lines, line);) {
    line = trimmed_line(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') is_ours = line == "[default]";
    const std::size_t equals = line.find('=');
    if (!is_ours || equals == std::string::npos) continue;
    const std::string name = trimmed_line(line.substr(0, equals));
    const std::string value = trimmed_line(line.substr(equals + 1));
    if (!is_printable_word(value)) continue;
    if (name == "aws_access_key_id") found.key_id = value;
    if (name == "aws_secret_access_key") found.secret = value;
    if (name == "aws_session_token") found.session_token = value;
  }
  if (found.key_id.empty() || found.secret.empty()) {
    return tl::unexpected("artifacts.credentials: " + path +
                          " needs the lines aws_access_key_id = … and aws_secret_access_key = …");
  }
  return found;
}

namespace {

// Returns the URL of a store without a slash at its end.
tl::expected<std::string, std::string> read_endpoint(const char* key, std::string url) {
  const std::string given = url;
  if (url.ends_with('/')) url.pop_back();
  const std::size_t host = url.find("://");
  const bool is_bare =
      host != std::string::npos && url.find_first_of("/?#@", host + 3) == std::string::npos;
  const UrlReach reach = reach_of_url(url);
  const std::string name = std::string("artifacts.") + key;
  if (reach == UrlReach::none || !is_bare) {
    return tl::unexpected(
        name + " is a URL without a path, such as https://minio.example.org:9000; not " + given);
  }
  if (reach == UrlReach::network_in_clear) {
    return tl::unexpected(name +
                          ": artifacts would cross the network in clear; it must be https, or of "
                          "this machine");
  }
  return url;
}

}  // namespace

tl::expected<std::optional<S3Settings>, std::string> read_artifact_settings(
    const ArtifactTexts& texts) {
  if (texts.store == "directory") return std::nullopt;
  const auto wrong = [](const std::string& why) { return tl::unexpected("artifacts." + why); };
  if (!texts.store.starts_with(s3_scheme)) {
    return wrong("store is \"directory\" or \"s3://bucket/prefix\"; not " + texts.store);
  }
  S3Settings settings;
  const std::string place = texts.store.substr(s3_scheme.size());
  const std::size_t slash = std::min(place.find('/'), place.size());
  settings.bucket = place.substr(0, slash);
  settings.prefix = slash == place.size() ? "" : place.substr(slash + 1);
  if (!is_bucket(settings.bucket) || !is_prefix(settings.prefix)) {
    return wrong(
        "store is s3://BUCKET/PREFIX; a bucket has 3 to 63 lower-case letters, digits, dots and "
        "hyphens, and a prefix parts of letters, digits, dots, hyphens and underscores; not " +
        texts.store);
  }
  if (!settings.prefix.empty()) settings.prefix += '/';
  if (texts.region.empty() || !has_only(texts.region, "-")) {
    return wrong("region is a name such as eu-central-1; not " + texts.region);
  }
  settings.region = texts.region;
  const std::string endpoint =
      texts.endpoint.empty() ? "https://s3." + texts.region + ".amazonaws.com" : texts.endpoint;
  settings.endpoint = TRY(read_endpoint("endpoint", endpoint));
  if (!texts.runner_endpoint.empty()) {
    settings.runner_endpoint = TRY(read_endpoint("runner_endpoint", texts.runner_endpoint));
  }
  if (!texts.certificate_authority.empty() &&
      ::access(texts.certificate_authority.c_str(), R_OK) != 0) {
    return wrong("certificate_authority: " + texts.certificate_authority + " can't be read");
  }
  settings.certificate_authority = texts.certificate_authority;
  if (texts.credentials.empty()) {
    settings.credentials = [found = credentials_of_environment()] { return found; };
  } else {
    settings.credentials = [path = texts.credentials] { return read_aws_credentials(path); };
  }
  return settings;
}

Stored<void> note_artifact_store(const fs::path& data, const ArtifactTexts& texts) {
  if (texts.store == "directory") {
    if (::unlink(note_of(data).c_str()) != 0 && errno != ENOENT) {
      return tl::unexpected(system_error("remove", note_of(data)));
    }
    return {};
  }
  ArtifactTexts noted = texts;
  json::object note;
  bool is_path = false;
  for (const char* const name : text_names) note[name] = *artifact_text(noted, name, is_path);
  TRY(make_directories(data / "artifacts"));
  return write_file_atomically(note_of(data), json::serialize(note) + "\n");
}

std::unique_ptr<ServiceArtifacts> open_artifacts(const fs::path& data) {
  std::optional<S3Settings> objects;
  if (const auto text = read_regular_file(note_of(data), note_bytes_max)) {
    const auto note = parse_json(*text);
    ArtifactTexts texts;
    bool is_path = false;
    for (const char* const name : text_names) {
      const json::value* const value =
          note && note->is_object() ? note->get_object().if_contains(name) : nullptr;
      if (value != nullptr && value->is_string()) {
        *artifact_text(texts, name, is_path) = std::string(value->get_string());
      }
    }
    if (auto settings = read_artifact_settings(texts)) objects = *std::move(settings);
  }
  return std::make_unique<ServiceArtifacts>(data / "artifacts", std::move(objects));
}

}  // namespace signalbox
