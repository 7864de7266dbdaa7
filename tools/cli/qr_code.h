// QR codes (ISO/IEC 18004) for the screen of a terminal. libqrencode makes them, which is loaded
// when it is first needed: only one command shows such a code.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <qrencode.h>

#include "tools/cli/call_error.h"
#include "tools/cli/terminal.h"

namespace signalbox {

struct QrCode {
  std::size_t width = 0;      // modules in a row, and rows
  std::vector<bool> is_dark;  // row by row

  // Return how much of a terminal half_blocks() takes.
  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::size_t rows() const;
};

class QrEncoder {
 public:
  // Loads the library, which stays loaded. IO_FAILED, with the package that has it, if that isn't
  // possible. Blocks on the disk.
  static Called<QrEncoder> load();

  // Returns the code of the text; nullopt if it is longer than any code holds, some 2,900 bytes.
  [[nodiscard]] std::optional<QrCode> encode(const std::string& text) const;

 private:
  // The functions of libqrencode that are used here, under their names without `QRcode_`.
  decltype(&::QRcode_encodeString8bit) encodeString8bit_ = nullptr;
  decltype(&::QRcode_free) free_ = nullptr;
};

// Returns the code in lines of half blocks, two modules a character, with the quiet zone of four
// modules that readers want around it. It is dark on light whatever the terminal's colours are;
// without colours, where letters are lighter than what is behind them.
std::string half_blocks(const QrCode& code, const Terminal& terminal);

}  // namespace signalbox
