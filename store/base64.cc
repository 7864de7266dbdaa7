#include "store/base64.h"

#include <openssl/evp.h>

#include "domain/check.h"

namespace signalbox {
namespace {

constexpr std::size_t base64_text_bytes_max = 1U << 30;  // OpenSSL counts in int

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t begin = out.size();
  const std::size_t length = (bytes.size() + 2) / 3 * 4;
  SIGNALBOX_CHECK(length <= base64_text_bytes_max);
  out.resize(begin + length);
  // EVP_EncodeBlock writes a NUL behind the text, where the string already has its own.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data() + begin),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

// OpenSSL accepts blanks around the text, '=' anywhere, and nonzero unused bits; this function
// rejects them.
bool decode_base64(std::string_view text, std::string& out) {
  if (text.size() % 4 != 0 || text.size() > base64_text_bytes_max) return false;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.substr(0, text.size() - padding).find('=') != std::string_view::npos) return false;
  const std::size_t begin = out.size();
  const std::size_t length = text.size() / 4 * 3;
  out.resize(begin + length);
  const int decoded = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data() + begin),
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()));
  if (decoded != static_cast<int>(length)) return false;
  out.resize(begin + length - padding);
  return padding == 0 ||
         text.ends_with(to_base64(std::string_view(out).substr(begin + length - 3)));
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  if (!decode_base64(text, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace signalbox
