#include "server/board/markdown_items.h"

#include <algorithm>
#include <utility>

#include "domain/text_parts.h"
#include "domain/try.h"

namespace signalbox {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t tab_columns = 4;
constexpr std::size_t code_columns = 4;  // a line with this indentation is code
constexpr std::size_t heading_level_max = 6;
constexpr std::size_t box_bytes_max = 3;  // "x", " x ", or a character such as a check mark
constexpr std::size_t item_number_digits_max = 9;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_all(std::string_view text, char letter) {
  return !text.empty() && text.find_first_not_of(letter) == std::string_view::npos;
}

std::size_t columns_of_indentation(std::string_view line) {
  std::size_t columns = 0;
  for (const char letter : line) {
    if (letter == ' ') {
      ++columns;
    } else if (letter == '\t') {
      columns += tab_columns - columns % tab_columns;
    } else {
      break;
    }
  }
  return columns;
}

struct Fence {
  char letter;
  std::size_t length;
};

// Returns the fence, three or more of '`' or '~', that opens a code block; nullopt for other text.
std::optional<Fence> fence_of(std::string_view text) {
  if (!text.starts_with("```") && !text.starts_with("~~~")) return std::nullopt;
  const std::size_t length = std::min(text.find_first_not_of(text.front()), text.size());
  // "```code```" is inline code.
  if (text.front() == '`' && text.find('`', length) != std::string_view::npos) return std::nullopt;
  return Fence{text.front(), length};
}

std::optional<std::string_view> heading_of(std::string_view text) {
  const std::size_t level = std::min(text.find_first_not_of('#'), text.size());
  if (level == 0 || level > heading_level_max) return std::nullopt;
  if (level < text.size() && text[level] != ' ' && text[level] != '\t') return std::nullopt;
  std::string_view title = trimmed(text.substr(level));
  while (title.ends_with('#')) title.remove_suffix(1);
  return trimmed(title);
}

// Returns the length of the bullet or number with its blank; 0 if the text isn't a list item.
std::size_t bullet_bytes(std::string_view text) {
  std::size_t bytes = 0;
  if (text.starts_with('-') || text.starts_with('*') || text.starts_with('+')) {
    bytes = 1;
  } else {
    while (bytes < text.size() && is_digit(text[bytes])) ++bytes;
    if (bytes == 0 || bytes > item_number_digits_max || bytes == text.size()) return 0;
    if (text[bytes] != '.' && text[bytes] != ')') return 0;
    ++bytes;
  }
  if (bytes == text.size()) return bytes;
  return text[bytes] == ' ' || text[bytes] == '\t' ? bytes + 1 : 0;
}

class ItemReader {
 public:
  explicit ItemReader(std::vector<MarkdownItem>* other_lines) : other_lines_(other_lines) {}

  tl::expected<std::vector<MarkdownItem>, LineError> read(std::string_view text) {
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      ++line_;
      TRY(read_line(text.substr(0, end)));
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    if (fence_) return refuse(fence_line_, "this block of code isn't closed: add a line ```");
    if (comment_line_ != 0) return refuse(comment_line_, "this comment isn't closed: add -->");
    return std::move(items_);
  }

 private:
  using Done = tl::expected<void, LineError>;

  static tl::unexpected<LineError> refuse(std::size_t line, std::string message) {
    return tl::unexpected(LineError{line, std::move(message)});
  }

  Done read_line(std::string_view line) {
    if (line.find('\0') != std::string_view::npos) {
      return refuse(line_, "there is a NUL byte: save the file as UTF-8 text");
    }
    if (fence_) {
      const std::string_view text = trimmed(line);
      if (is_all(text, fence_->letter) && text.size() >= fence_->length) fence_.reset();
      return {};
    }
    const std::string shown = without_comments(line);
    const std::string_view text = trimmed(shown);
    if (text.empty()) {
      after_blank_ = true;
      paragraph_.clear();
      return {};
    }
    read_text(columns_of_indentation(shown), text);
    after_blank_ = false;
    return {};
  }

  void read_text(std::size_t indentation, std::string_view text) {
    const std::size_t content = content_column_.value_or(0);
    if (indentation >= content + code_columns) return;
    if (const auto fence = fence_of(text)) {
      fence_ = fence;
      fence_line_ = line_;
      paragraph_.clear();
      return;
    }
    if (content_column_ && indentation >= content) return add_other_line(text);
    const bool underlines = is_all(text, '=') || is_all(text, '-');
    if (underlines && !paragraph_.empty()) {
      begin_section(paragraph_);
      return;
    }
    if (const auto heading = heading_of(text)) {
      begin_section(*heading);
      return;
    }
    const std::size_t bullet = bullet_bytes(text);
    if (bullet != 0) {
      paragraph_.clear();
      content_column_ = indentation + std::max<std::size_t>(bullet, 2);
      add_item(trimmed(text.substr(bullet)));
      return;
    }
    if (after_blank_) content_column_.reset();
    add_other_line(text);
    if (content_column_) return;  // a continuation of an item's paragraph
    if (!paragraph_.empty()) paragraph_ += ' ';
    paragraph_ += text;
  }

  void begin_section(std::string_view heading) {
    heading_ = heading.substr(0, markdown_heading_bytes_max);
    paragraph_.clear();
    content_column_.reset();
  }

  void add_item(std::string_view text) { items_.push_back(item_of(text)); }

  void add_other_line(std::string_view text) {
    if (other_lines_ == nullptr) return;
    MarkdownItem line = item_of(trimmed(text.substr(bullet_bytes(text))));
    line.is_nested = content_column_.has_value();
    other_lines_->push_back(std::move(line));
  }

  [[nodiscard]] MarkdownItem item_of(std::string_view text) const {
    MarkdownItem item{line_, heading_, std::nullopt, {}, false};
    const std::size_t end = text.starts_with('[') ? text.find(']') : std::string_view::npos;
    if (end != std::string_view::npos && end - 1 <= box_bytes_max) {
      const bool is_link = text.substr(end + 1).starts_with('(');
      if (!is_link) {
        item.box = trimmed(text.substr(1, end - 1));
        text = trimmed(text.substr(end + 1));
      }
    }
    item.text = text;
    return item;
  }

  // Returns the line without comments, which may begin or end on other lines.
  std::string without_comments(std::string_view line) {
    std::string shown;
    while (true) {
      if (comment_line_ != 0) {
        const std::size_t end = line.find("-->");
        if (end == std::string_view::npos) return shown;
        line.remove_prefix(end + 3);
        comment_line_ = 0;
      }
      const std::size_t begin = comment_begin(line);
      shown += line.substr(0, begin);
      if (begin == std::string_view::npos) return shown;
      line.remove_prefix(begin + 4);
      comment_line_ = line_;
    }
  }

  // Returns the offset of the first `<!--` outside of inline code; npos if there is none.
  static std::size_t comment_begin(std::string_view line) {
    bool is_quoted = false;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '`') is_quoted = !is_quoted;
      if (!is_quoted && line.substr(at).starts_with("<!--")) return at;
    }
    return std::string_view::npos;
  }

  std::vector<MarkdownItem>* other_lines_;  // or nullptr
  std::vector<MarkdownItem> items_;
  std::size_t line_ = 0;
  std::string heading_;
  std::string paragraph_;  // preceding lines of prose, which an underline would make a heading
  bool after_blank_ = false;
  std::optional<std::size_t> content_column_;  // a line indented this far belongs to the item above
  std::optional<Fence> fence_;                 // of the code block that contains this line
  std::size_t fence_line_ = 0;
  std::size_t comment_line_ = 0;  // first line of the comment that contains this line; 0: none
};

}  // namespace

tl::expected<std::vector<MarkdownItem>, LineError> markdown_items(
    std::string_view text, std::vector<MarkdownItem>* other_lines) {
  return ItemReader(other_lines).read(text);
}

}  // namespace signalbox
