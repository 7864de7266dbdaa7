#include "server/text/toml_text.h"

#include <optional>
#include <utility>

namespace signalbox {
namespace {

// Skips over a document's strings and comments and counts the dots between its other tokens. A dot
// in a number counts as well, which is harmless: a number has one.
class KeyScanner {
 public:
  explicit KeyScanner(std::string_view text) : text_(text) {}

  // Returns the error at the first key with too many parts. Bad syntax is left to the parser.
  std::optional<TomlError> find_deep_key() {
    std::size_t parts = 1;
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
        case '\'':
          skip_string();
          continue;
        case '#':
          skip_until('\n');
          continue;
        case '\n':
          ++line_;
          line_begin_ = at_ + 1;
          parts = 1;
          break;
        case ',':
        case '=':
        case '[':
        case ']':
        case '{':
        case '}':
          parts = 1;
          break;
        case '.':
          if (++parts > toml_key_parts_max) {
            return TomlError{line_, at_ - line_begin_ + 1,
                             "a key has more than " + std::to_string(toml_key_parts_max) +
                                 " parts separated by dots"};
          }
          break;
        default:
          break;
      }
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_until(char end) {
    const std::size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found;
  }

  void skip_string() {
    const char quote = text_[at_];
    const std::string_view rest = text_.substr(at_);
    const std::string triple(3, quote);
    const bool is_multi_line = rest.starts_with(triple);
    at_ += is_multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;  // the next character is escaped
      } else if (c == '\n') {
        if (!is_multi_line) return;  // bad syntax
      } else if (c == quote && (!is_multi_line || text_.substr(at_).starts_with(triple))) {
        at_ += is_multi_line ? 3 : 1;
        // Up to two quotes before the closing three belong to the string.
        for (int i = 0; is_multi_line && i < 2 && text_.substr(at_).starts_with(quote); ++i) ++at_;
        return;
      }
      if (at_ < text_.size() && text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
      ++at_;
    }
    at_ = text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
};

}  // namespace

tl::expected<toml::table, TomlError> parse_toml(std::string_view text) {
  if (text.size() > toml_text_bytes_max) {
    return tl::unexpected(TomlError{
        1, 1, "the text is longer than " + std::to_string(toml_text_bytes_max) + " bytes"});
  }
  if (auto deep = KeyScanner(text).find_deep_key()) return tl::unexpected(*std::move(deep));
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return tl::unexpected(TomlError{error.source().begin.line, error.source().begin.column,
                                    std::string(error.description())});
  }
}

}  // namespace signalbox
