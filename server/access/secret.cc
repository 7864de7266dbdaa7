#include "server/access/secret.h"

#include <span>
#include <system_error>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "domain/check.h"
#include "domain/ids.h"
#include "domain/try.h"
#include "store/durable_file.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr std::string_view prefix = "sbj_";
constexpr std::size_t key_bytes = sizeof(Digest);
constexpr std::size_t mac_digits = 2 * sizeof(Digest);
constexpr std::size_t uuid_characters = 36;

std::string mac_of(const std::string& key, std::string_view job_id) {
  Digest mac;
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(job_id.data()), job_id.size(),
           reinterpret_cast<unsigned char*>(mac.bytes.data()), &size);
  SIGNALBOX_CHECK(made != nullptr && size == sizeof(Digest));
  return to_hex(mac);
}

}  // namespace

std::string make_secret(const RandomSource& random) {
  Digest bits;
  random(std::as_writable_bytes(std::span(bits.bytes)));
  return "sbx_" + to_hex(bits);
}

Digest digest_of_secret(std::string_view secret) { return sha256(secret); }

Stored<std::string> load_job_key(const std::filesystem::path& data, const RandomSource& random) {
  const std::filesystem::path file = data / "jobs.key";
  std::error_code unknown;
  // A FIFO would be waited for. Like another damaged key, it is replaced.
  const bool is_fifo = std::filesystem::is_fifo(file, unknown);
  auto found = is_fifo ? Stored<std::string>("") : read_file(file, key_bytes);
  if (found && found->size() == key_bytes) return found;
  if (!found && found.error().kind == StoreError::Kind::io) return found;
  // A missing or damaged key is made anew. Jobs under way are still known by their processes.
  Digest bits;
  random(std::as_writable_bytes(std::span(bits.bytes)));
  std::string key(raw_bytes(bits));
  TRY(replace_file(file, key));
  return key;
}

std::string make_job_secret(const std::string& key, std::string_view job_id) {
  return std::string(prefix) + mac_of(key, job_id) + "_" + std::string(job_id);
}

bool is_job_secret(std::string_view secret) { return secret.starts_with(prefix); }

std::optional<std::string> job_of_secret(const std::string& key, std::string_view secret) {
  constexpr std::size_t id_at = prefix.size() + mac_digits + 1;
  if (key.empty() || !is_job_secret(secret) || secret.size() <= id_at) return std::nullopt;
  std::string job_id(secret.substr(id_at));
  const std::string expected = make_job_secret(key, job_id);
  if (CRYPTO_memcmp(expected.data(), secret.data(), secret.size()) != 0) return std::nullopt;
  return job_id;
}

std::string make_runner_key(const std::string& key, std::string_view runner_id) {
  return "sbk_" + mac_of(key, "runner " + std::string(runner_id));
}

bool is_runner_key(const std::string& key, std::string_view runner_id, std::string_view given) {
  const std::string expected = make_runner_key(key, runner_id);
  return !key.empty() && given.size() == expected.size() &&
         CRYPTO_memcmp(expected.data(), given.data(), given.size()) == 0;
}

std::optional<JobName> parse_job_id(std::string_view job_id) {
  const std::size_t last = job_id.rfind('-');
  if (last == std::string_view::npos || last <= uuid_characters + 1) return std::nullopt;
  if (job_id[uuid_characters] != '-') return std::nullopt;
  return JobName{std::string(job_id.substr(0, uuid_characters)),
                 std::string(job_id.substr(uuid_characters + 1, last - uuid_characters - 1)),
                 std::string(job_id.substr(last + 1))};
}

std::string actor_of_job(std::string_view job_id) {
  const auto name = parse_job_id(job_id);
  if (!name) return "job:" + std::string(job_id);
  return "job:" + name->run_id + "/" + name->station + "/" + name->attempt;
}

}  // namespace signalbox
