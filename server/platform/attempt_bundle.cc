#include "server/platform/attempt_bundle.h"

#include <algorithm>
#include <string_view>

#include <boost/json/value.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::uint64_t tar_block_bytes = 512;
constexpr std::uint64_t tar_end_bytes = 2 * tar_block_bytes;

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + tar_block_bytes - 1) / tar_block_bytes * tar_block_bytes;
}

bool is_same_content(const Artifact& left, const Artifact& right) {
  return left.sha256 == right.sha256 && left.bytes == right.bytes;
}

// Calls `visit` with each member that isn't the content of an earlier one, and the offset of its
// content, until it returns false. Returns the offset behind the last one.
template <class Visit>
std::uint64_t for_each_member(std::span<const Artifact> members, Visit visit) {
  std::uint64_t offset = 0;
  for (std::size_t index = 0; index < members.size(); ++index) {
    const Artifact& member = members[index];
    const auto earlier = members.first(index);
    const auto is_it = [&](const Artifact& each) { return is_same_content(each, member); };
    if (std::any_of(earlier.begin(), earlier.end(), is_it)) continue;
    if (!visit(member, offset + tar_block_bytes)) break;
    offset += tar_block_bytes + padded(member.bytes);
  }
  return offset;
}

// Compares the members with what a bundle has in their places, as it is read.
class MemberCheck {
 public:
  explicit MemberCheck(std::span<const Artifact> members) {
    for_each_member(members, [this](const Artifact& member, std::uint64_t offset) {
      places_.push_back({&member, offset});
      return true;
    });
  }

  void take(std::string_view part) {
    for (compare_ended(); !part.empty() && is_open(); compare_ended()) {
      const Place& place = places_[next_];
      const bool is_before = read_ < place.offset;
      const std::uint64_t end = is_before ? place.offset : place.offset + place.member->bytes;
      const auto bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), end - read_));
      if (!is_before) hash_.update(part.substr(0, bytes));
      read_ += bytes;
      part.remove_prefix(bytes);
    }
  }
  // Returns the first member that isn't there; nullopt if each is. Called at the end.
  [[nodiscard]] std::optional<Artifact> wrong() const {
    return next_ == places_.size() ? std::nullopt : std::optional(*places_[next_].member);
  }

 private:
  struct Place {
    const Artifact* member;
    std::uint64_t offset;
  };

  [[nodiscard]] bool is_open() const { return !is_wrong_ && next_ < places_.size(); }
  void compare_ended() {
    while (is_open() && read_ >= places_[next_].offset + places_[next_].member->bytes) {
      is_wrong_ = hash_.finish() != places_[next_].member->sha256;
      if (!is_wrong_) ++next_;
    }
  }

  std::vector<Place> places_;
  std::size_t next_ = 0;  // the first whose content wasn't compared, or is wrong
  bool is_wrong_ = false;
  std::uint64_t read_ = 0;
  Sha256 hash_;
};

// Writes the number as a field of a header has it: octal digits, and a NUL.
void put_octal(std::string& header, std::size_t at, std::size_t width, std::uint64_t number) {
  for (std::size_t left = width - 1; left > 0; --left, number /= 8) {
    header[at + left - 1] = static_cast<char>('0' + number % 8);
  }
}

// Returns the header of a regular file of nobody and no time, so that equal members make equal
// bundles.
std::string tar_header(const Artifact& member) {
  constexpr std::size_t mode_at = 100;
  constexpr std::size_t uid_at = 108;
  constexpr std::size_t gid_at = 116;
  constexpr std::size_t size_at = 124;
  constexpr std::size_t time_at = 136;
  constexpr std::size_t sum_at = 148;
  constexpr std::size_t type_at = 156;
  constexpr std::size_t magic_at = 257;
  std::string header(tar_block_bytes, '\0');
  const std::string name = "sha256/" + to_hex(member.sha256);
  header.replace(0, name.size(), name);
  put_octal(header, mode_at, 8, 0644);
  put_octal(header, uid_at, 8, 0);
  put_octal(header, gid_at, 8, 0);
  put_octal(header, size_at, 12, member.bytes);
  put_octal(header, time_at, 12, 0);
  header[type_at] = '0';
  header.replace(magic_at, 8, std::string_view("ustar\00000", 8));
  header.replace(sum_at, 8, 8, ' ');  // counts as spaces
  std::uint64_t sum = 0;
  for (const char each : header) sum += static_cast<unsigned char>(each);
  put_octal(header, sum_at, 7, sum);
  header[sum_at + 6] = '\0';
  return header;
}

}  // namespace

std::optional<std::uint64_t> bundle_bytes(std::span<const Artifact> members) {
  const auto is_too_large = [](const Artifact& each) {
    return each.bytes > limits::artifact_bytes_max;
  };
  if (std::any_of(members.begin(), members.end(), is_too_large)) return std::nullopt;
  return for_each_member(members, [](const Artifact&, std::uint64_t) { return true; }) +
         tar_end_bytes;
}

Stored<std::string> make_bundle(
    std::span<const Artifact> members,
    const std::function<Stored<std::string>(const Artifact& member)>& read) {
  std::string bundle;
  bundle.reserve(bundle_bytes(members).value_or(0));
  Stored<std::string> content;
  for_each_member(members, [&](const Artifact& member, std::uint64_t) {
    content = read(member);
    if (!content) return false;
    bundle += tar_header(member);
    bundle += *content;
    bundle.resize(padded(bundle.size()));
    return true;
  });
  if (!content) return content;
  bundle.resize(bundle.size() + tar_end_bytes);
  return bundle;
}

ArtifactPlace place_of(const std::vector<Artifact>& artifacts, const Artifact& artifact) {
  ArtifactPlace place{artifact.sha256, artifact.bytes, std::nullopt};
  const auto bundle = std::find_if(artifacts.begin(), artifacts.end(), is_bundle);
  if (bundle == artifacts.end()) return place;
  const std::span<const Artifact> members(artifacts.begin(), bundle);
  if (bundle_bytes(members) != bundle->bytes) return place;
  for_each_member(members, [&](const Artifact& member, std::uint64_t offset) {
    if (!is_same_content(member, artifact)) return true;
    place.part = BundlePart{bundle->sha256, offset};
    return false;
  });
  return place;
}

Stored<std::optional<Artifact>> find_wrong_member(const ArtifactStore& store,
                                                  const std::vector<Artifact>& artifacts) {
  const auto bundle = std::find_if(artifacts.begin(), artifacts.end(), is_bundle);
  if (bundle == artifacts.end() || bundle == artifacts.begin()) return std::nullopt;
  const std::span<const Artifact> members(artifacts.begin(), bundle);
  if (bundle_bytes(members) != bundle->bytes) return std::nullopt;
  MemberCheck check(members);
  TRY(store.scan(bundle->sha256, [&check](std::string_view part) { check.take(part); }));
  return check.wrong();
}

void add_place(const ArtifactPlace& place, json::object& artifact) {
  if (!place.part) return;
  artifact["bundle"] = {{"sha256", to_hex(place.part->bundle)}, {"offset", place.part->offset}};
}

ArtifactPlace place_of_json(const json::object& artifact) {
  const auto digest_in = [](const json::object& object) {
    const json::value* const text = object.if_contains("sha256");
    if (text == nullptr || !text->is_string()) return Digest{};
    return parse_digest(std::string(text->get_string())).value_or(Digest{});
  };
  const auto number_in = [](const json::object& object, const char* name) {
    const json::value* const number = object.if_contains(name);
    return number == nullptr || !number->is_number() ? 0 : number->to_number<std::uint64_t>();
  };
  ArtifactPlace place{digest_in(artifact), number_in(artifact, "bytes"), std::nullopt};
  const json::value* const bundle = artifact.if_contains("bundle");
  if (bundle != nullptr && bundle->is_object()) {
    const json::object& part = bundle->get_object();
    place.part = BundlePart{digest_in(part), number_in(part, "offset")};
  }
  return place;
}

}  // namespace signalbox
