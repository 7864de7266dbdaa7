#include "tools/views/board_view.h"

#include <algorithm>

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t width_unless_terminal = 140;
constexpr std::size_t column_width_min = 18;
constexpr std::size_t column_width_max = 36;
constexpr std::size_t column_gap = 2;
constexpr std::size_t title_lines_max = 3;

struct Line {
  std::string text;  // printable, no wider than the column
  Style style = Style::plain;
};
using Lines = std::vector<Line>;

// Breaks text into lines, between words if possible, else between characters. The last of at most
// `lines_max` lines is cut.
std::vector<std::string> wrapped(const std::string& text, std::size_t width,
                                 std::size_t lines_max) {
  std::vector<std::string> lines;
  std::string rest = text;
  while (!rest.empty()) {
    if (columns_of(rest) <= width || lines.size() + 1 == lines_max) {
      lines.push_back(cut(rest, width));
      break;
    }
    std::size_t end = bytes_within(rest, width);
    // A word that ends exactly at the width stays whole.
    const std::size_t space = rest[end] == ' ' ? end : rest.rfind(' ', end);
    if (space != std::string::npos && space > 0) end = space;
    if (end == 0) end = rest.size();  // a character that is wider than the column
    lines.push_back(rest.substr(0, end));
    rest.erase(0, std::min(rest.find_first_not_of(' ', end), rest.size()));
  }
  return lines;
}

// "web · 3m 05s ago": the project, and the time of the last change.
std::string place_text(const json::object& card, bool names_project, std::int64_t now_ns) {
  const std::string age = short_age(text_at(card, "changed_at"), now_ns);
  if (!names_project) return age;
  return text_at(card, "project") + " · " + age;
}

// The part of a card's state that is worth a line; empty text if none is.
Line state_line(const json::object& card) {
  const std::string status = text_at(card, "status");
  if (status == "backlog") {
    const json::object& waiting = object_at(card, "waiting");
    const std::string reason = text_at(waiting, "reason");
    if (reason == "none") return {"▸ next", Style::good};
    if (reason == "concurrency") {
      const std::string scope = text_at(waiting, "scope");
      const std::string limit = text_at(waiting, "limit");
      return {scope == "key"       ? "key " + text_at(card, "key") + " is taken"
              : scope == "project" ? text_at(card, "project") + " is full (" + limit + ")"
              : scope == "held"    ? limit + " others are held"
                                   : "all agents busy (" + limit + ")",
              Style::faint};
    }
    return {reason == "policy"           ? "disabled by policy"
            : reason == "service_paused" ? "service is paused"
                                         : "",
            Style::faint};
  }
  if (text_at(object_at(card, "waiting"), "reason") == "approval") {
    return {"needs a decision", Style::bad};
  }
  if (status == "running" || status == "verifying") {
    // Run ids begin with the time, so that only their ends differ visibly.
    const std::string run_id = text_at(card, "run_id");
    return {"try " + text_at(card, "attempts") + " · …" +
                run_id.substr(run_id.size() - std::min<std::size_t>(run_id.size(), 6)),
            Style::busy};
  }
  if (status == "verified") {
    if (true_at(card, "merging")) return {"merging", Style::busy};
    const std::string code = text_at(card, "code");
    return {code.empty() ? "to be merged" : code, code.empty() ? Style::faint : Style::bad};
  }
  if (status == "merged") return {text_at(card, "commit").substr(0, 10), Style::faint};
  return {text_at(card, "code"), Style::bad};
}

Lines card_lines(const json::object& card, bool names_project, std::size_t width,
                 std::int64_t now_ns) {
  Lines lines;
  for (std::string& each : wrapped(printable(text_at(card, "title")), width, title_lines_max)) {
    lines.push_back({std::move(each), Style::strong});
  }
  const Line state = state_line(card);
  if (!state.text.empty()) lines.push_back({cut(printable(state.text), width), state.style});
  if (const std::string retry = text_at(card, "retry_at"); !retry.empty()) {
    lines.push_back({cut("retry " + clock_minutes(retry, now_ns), width), Style::faint});
  }
  lines.push_back({cut(printable(place_text(card, names_project, now_ns)), width), Style::faint});
  return lines;
}

Lines column_lines(const BoardColumn& column, const BoardPicture& picture, std::size_t width,
                   std::int64_t now_ns) {
  std::string name = column.status;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::toupper(c)); });
  Style style = style_of_status(column.status);
  if (column.total == 0) style = Style::faint;
  if (style == Style::plain) style = Style::strong;
  Lines lines{{cut(name + " " + std::to_string(column.total), width), style}};
  std::string rule;
  for (std::size_t place = 0; place < width; ++place) rule += "─";
  lines.push_back({rule, Style::faint});
  const std::size_t drawn = std::min(picture.cards_max, column.cards.size());
  for (std::size_t place = 0; place < drawn; ++place) {
    if (place > 0) lines.emplace_back();
    for (Line& each : card_lines(column.cards[place], picture.names_projects, width, now_ns)) {
      lines.push_back(std::move(each));
    }
  }
  if (column.total > drawn) {
    lines.emplace_back();
    lines.push_back(
        {cut("+ " + std::to_string(column.total - drawn) + " more", width), Style::faint});
  }
  return lines;
}

std::string side_by_side(const std::vector<Lines>& columns, std::size_t width,
                         const Terminal& terminal) {
  std::size_t height = 0;
  for (const Lines& each : columns) height = std::max(height, each.size());
  std::string out;
  for (std::size_t row = 0; row < height; ++row) {
    std::size_t pending = 0;  // spaces before the next text
    for (const Lines& column : columns) {
      const Line line = row < column.size() ? column[row] : Line{};
      if (!line.text.empty()) {
        out.append(pending, ' ');
        out += styled(terminal, line.style, line.text);
        pending = 0;
      }
      pending += width + column_gap - std::min(columns_of(line.text), width);
    }
    out += '\n';
  }
  return out;
}

// "2 of 3 agents busy · web 1 of 1 · api 1 of 2".
std::string agents_text(const json::object& agents) {
  const json::array& by_project = array_at(agents, "projects");
  if (by_project.empty()) return {};
  std::string text = text_at(agents, "total");
  // Each project's policy has its own limit over all projects; it is shown if they agree.
  const std::string over_all = text_at(by_project.front().as_object(), "limit_over_all");
  const bool agreed =
      std::all_of(by_project.begin(), by_project.end(), [&](const json::value& each) {
        return text_at(each.as_object(), "limit_over_all") == over_all;
      });
  if (agreed) text += " of " + over_all;
  text += text == "1" ? " agent busy" : " agents busy";
  for (const json::value& each : by_project) {
    const json::object& project = each.as_object();
    text += " · " + text_at(project, "project") + " " + text_at(project, "agents") + " of " +
            text_at(project, "limit");
  }
  return printable(text);
}

}  // namespace

std::string draw_board(const BoardPicture& picture, const Terminal& terminal, std::int64_t now_ns) {
  const std::size_t screen = terminal.columns.value_or(width_unless_terminal);
  const std::size_t fitting =
      std::max<std::size_t>((screen + column_gap) / (column_width_min + column_gap), 1);
  // If not all columns fit, those without cards are left out.
  std::vector<const BoardColumn*> shown;
  std::string empty;
  for (const BoardColumn& column : picture.columns) {
    if (picture.columns.size() <= fitting || column.total > 0) {
      shown.push_back(&column);
    } else {
      empty += (empty.empty() ? "empty: " : ", ") + column.status;
    }
  }
  if (shown.empty()) return "no cards: signalbox card submit TITLE --project NAME\n";
  const std::size_t rows = (shown.size() + fitting - 1) / fitting;
  const std::size_t beside = (shown.size() + rows - 1) / rows;
  const std::size_t room =
      screen > column_gap * (beside - 1) ? screen - column_gap * (beside - 1) : beside;
  const std::size_t width = std::min(std::max<std::size_t>(room / beside, 1), column_width_max);
  std::string out;
  for (std::size_t first = 0; first < shown.size(); first += beside) {
    std::vector<Lines> columns;
    const std::size_t last = std::min(first + beside, shown.size());
    for (std::size_t place = first; place < last; ++place) {
      columns.push_back(column_lines(*shown[place], picture, width, now_ns));
    }
    if (!out.empty()) out += '\n';
    out += side_by_side(columns, width, terminal);
  }
  if (const std::string agents = agents_text(picture.agents); !agents.empty()) {
    out += "\n" + styled(terminal, Style::faint, cut(agents, screen)) + "\n";
  }
  if (!picture.paused.empty()) {
    const std::string text = "The service is " + paused_line(picture.paused, now_ns);
    out += "\n" + styled(terminal, Style::bad, cut(text, screen)) + "\n";
    out += with_connection("Nothing is started or merged until: signalbox resume --all\n",
                           terminal.connection);
  }
  for (const json::value& each : picture.held) {
    if (!each.is_object()) continue;
    const std::string text = printable(text_at(each.as_object(), "text"));
    out += "\n" + styled(terminal, Style::bad, cut(text, screen)) + "\n";
  }
  if (!empty.empty()) out += "\n" + styled(terminal, Style::faint, cut(empty, screen)) + "\n";
  return out;
}

}  // namespace signalbox
