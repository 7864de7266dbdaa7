// One request to an S3-compatible store of objects, with its deadline and what its answer means.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/platform/artifact_store.h"
#include "server/platform/aws_signature.h"
#include "server/platform/s3_answer.h"
#include "server/platform/store_health.h"

namespace signalbox {

struct S3Settings {
  std::string endpoint;              // such as https://s3.eu-central-1.amazonaws.com: no path
  std::string runner_endpoint = {};  // the same for whoever gets an upload_url(); empty: endpoint
  std::string region;
  std::string bucket;
  std::string prefix;                 // of all keys: empty, or with a slash at its end
  std::string certificate_authority;  // a PEM file to trust instead of the system's, or empty
  // Returns the credentials as they are now, or why there are none, for a person.
  std::function<tl::expected<AwsCredentials, std::string>()> credentials;
};

// An object as HEAD shows it.
struct S3Head {
  std::optional<std::uint64_t> bytes;  // nullopt if the store doesn't say it
  std::int64_t modified_ns = 0;        // UTC; 0 if the store doesn't say it
  // Of the content, as the store has computed it; nullopt for a store that doesn't.
  std::optional<Digest> sha256;
};

// Thread-safe. All calls block; errors as in artifact_store.h, none of them with a secret.
class S3Client {
 public:
  explicit S3Client(S3Settings settings);

  enum class Put { created, existed };
  // Stores the object; with `only_if_absent` unless the key exists. A store that doesn't know this
  // condition replaces the object. The store checks the digest of what it receives.
  Stored<Put> put(const std::string& key, const Digest& sha256, std::string_view content,
                  bool only_if_absent);
  using Sink = std::function<bool(std::string_view part)>;
  // Passes the object to `sink`, a part at a time; false from it ends the request with `damaged`.
  Stored<void> get(const std::string& key, const Sink& sink);
  // Does the same for so many bytes from `offset` on, at least one; fewer if the object ends there.
  // A store or proxy that answers with the whole object is read up to the end of the part.
  Stored<void> get_range(const std::string& key, std::uint64_t offset, std::uint64_t bytes,
                         const Sink& sink);
  // Returns what is there under the key; nullopt for nothing, in a bucket that exists.
  Stored<std::optional<S3Head>> head(const std::string& key);
  // Returns the request with which somebody without credentials may store the object for the next
  // limits::upload_url_ms_max from `wall_ns` (UTC) on: content of this digest and size alone, and
  // only if the key is absent. nullopt for a store that doesn't keep this condition, which the
  // first call finds out with an object of its own.
  Stored<std::optional<UploadUrl>> upload_url(const std::string& key, const Digest& sha256,
                                              std::uint64_t bytes, std::int64_t wall_ns);
  // Removes the object; one that isn't there is no error.
  Stored<void> remove(const std::string& key);
  // Returns a page of the objects whose keys begin with `prefix`, in order. `token` is empty, or
  // the next_token of the page before.
  Stored<S3Listing> list(const std::string& prefix, std::size_t keys_max,
                         const std::string& token = {});

  // Returns the URL of a key: s3://bucket/key.
  [[nodiscard]] std::string url_of(const std::string& key) const;
  [[nodiscard]] const S3Settings& settings() const { return settings_; }
  [[nodiscard]] std::optional<StoreTrouble> trouble() const { return health_.trouble(); }

 private:
  struct Request;
  struct Answer {
    long status = 0;
    std::string body;
    std::string code;  // of an error, or empty
    S3Head head = {};  // of HEAD
  };
  // Returns the store's answer, of any status that says something of the object. Errors: `away`,
  // `denied`.
  Stored<Answer> ask(const Request& request);
  Stored<void> read(Request request, const Sink& sink);
  // Returns whether the store refuses to replace an object where only an absent one may be created.
  Stored<bool> keeps_conditions();
  Stored<Answer> send_signed(const Request& request) const;
  [[nodiscard]] tl::unexpected<StoreError> failure(StoreError::Kind kind, const std::string& key,
                                                   const std::string& why) const;

  const S3Settings settings_;
  StoreHealth health_;
  std::atomic<bool> knows_conditions_ = true;     // the store hasn't refused or ignored one
  std::atomic<bool> has_kept_condition_ = false;  // it was seen to
};

}  // namespace signalbox
