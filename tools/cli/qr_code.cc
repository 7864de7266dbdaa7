#include "tools/cli/qr_code.h"

#include <array>
#include <memory>
#include <string_view>

#include "store/loaded_library.h"

namespace signalbox {
namespace {

constexpr std::size_t quiet_zone_modules = 4;

// White letters on black, of the part of the 256 colours that no theme changes.
constexpr std::string_view white_on_black = "\x1b[38;5;231;48;5;16m";
constexpr std::string_view former_colours = "\x1b[0m";

// What a character shows whose upper and lower module are light (1) or dark (0), as letters are.
constexpr std::array<std::array<std::string_view, 2>, 2> blocks{{{" ", "▄"}, {"▀", "█"}}};

}  // namespace

std::size_t QrCode::columns() const { return width + 2 * quiet_zone_modules; }

std::size_t QrCode::rows() const { return (columns() + 1) / 2; }

Called<QrEncoder> QrEncoder::load() {
  LoadedLibrary file("libqrencode.so.4", "libqrencode4");
  QrEncoder encoder;
  file.find(encoder.encodeString8bit_, "QRcode_encodeString8bit");
  file.find(encoder.free_, "QRcode_free");
  if (!file.problem().empty())
    return tl::unexpected(io_error(file.problem(), {"apt install libqrencode4"}));
  return encoder;
}

std::optional<QrCode> QrEncoder::encode(const std::string& text) const {
  constexpr int smallest_version = 0;
  // A screen has no stains, so the smallest code is read best.
  const std::unique_ptr<QRcode, decltype(free_)> made(
      encodeString8bit_(text.c_str(), smallest_version, QR_ECLEVEL_L), free_);
  if (!made) return std::nullopt;
  QrCode code;
  code.width = static_cast<std::size_t>(made->width);
  code.is_dark.reserve(code.width * code.width);
  for (std::size_t module = 0; module < code.width * code.width; ++module) {
    code.is_dark.push_back((made->data[module] & 1U) != 0);
  }
  return code;
}

std::string half_blocks(const QrCode& code, const Terminal& terminal) {
  // The quiet zone is light, and so is the lower half of the last line, which no module has.
  const auto is_light = [&code](std::size_t row, std::size_t column) {
    if (row < quiet_zone_modules || column < quiet_zone_modules) return true;
    row -= quiet_zone_modules;
    column -= quiet_zone_modules;
    if (row >= code.width || column >= code.width) return true;
    return !code.is_dark[row * code.width + column];
  };
  std::string text;
  for (std::size_t row = 0; row < code.columns(); row += 2) {
    if (terminal.colours) text += white_on_black;
    for (std::size_t column = 0; column < code.columns(); ++column) {
      text += blocks[is_light(row, column) ? 1 : 0][is_light(row + 1, column) ? 1 : 0];
    }
    if (terminal.colours) text += former_colours;
    text += '\n';
  }
  return text;
}

}  // namespace signalbox
