# Writes a source with the files of the console, as they are and compressed:
#
#   cmake -DFOLDER=server/console -DNAMES=app.js,index.html,… -DOUTPUT=console_assets.cc -P embed.cmake
#
# The addresses of the files have the digest of all of them, so that a browser may keep them.
# index.html has @DIGEST@ for it, and @PRELOAD@ for links to all modules.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" NAMES "${NAMES}")
list(SORT NAMES)

function(media_type_of name result)
  cmake_path(GET name EXTENSION LAST_ONLY extension)
  set(type_js "text/javascript; charset=utf-8")
  set(type_css "text/css; charset=utf-8")
  set(type_html "text/html; charset=utf-8")
  set(type_svg "image/svg+xml")
  string(SUBSTRING "${extension}" 1 -1 extension)
  if(NOT DEFINED type_${extension})
    message(FATAL_ERROR "the console has no media type for ${name}")
  endif()
  set(${result} "${type_${extension}}" PARENT_SCOPE)
endfunction()

# Sets `result` to the fields of a ConsoleAsset. `file` is read; `name` is what it is called.
function(asset_of file name result)
  file(READ "${file}" content)
  file(SIZE "${file}" content_bytes)
  file(SHA256 "${file}" digest)
  media_type_of("${name}" media_type)
  set(packed "${OUTPUT}.gz")
  file(ARCHIVE_CREATE OUTPUT "${packed}" PATHS "${file}" FORMAT raw COMPRESSION GZip
    COMPRESSION_LEVEL 9)
  file(READ "${packed}" bytes HEX)
  file(REMOVE "${packed}")
  # The time in the header of gzip (RFC 1952, 2.3) would make each build another one.
  string(SUBSTRING "${bytes}" 0 8 head)
  string(SUBSTRING "${bytes}" 16 -1 rest)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${head}00000000${rest}")
  string(LENGTH "${bytes}" escaped_bytes)
  math(EXPR packed_bytes "${escaped_bytes} / 4")
  set(${result} "{\"${name}\",\n \"${media_type}\",\n \"${digest}\",\n {R\"console(${content})console\", ${content_bytes}},
 {\"${bytes}\", ${packed_bytes}}}" PARENT_SCOPE)
endfunction()

set(assets "")
set(digests "")
foreach(name IN LISTS NAMES)
  file(SHA256 "${FOLDER}/${name}" digest)
  string(APPEND digests "${name} ${digest}\n")
  if(NOT name STREQUAL "index.html")
    asset_of("${FOLDER}/${name}" "${name}" asset)
    string(APPEND assets "${asset},\n")
  endif()
endforeach()
string(SHA256 all "${digests}")
string(SUBSTRING "${all}" 0 16 all)

# The browser asks for all modules of the start at once, not as it finds them in each other. The worker is
# loaded by itself; pages and what proves the log, later.
set(preload "")
foreach(name IN LISTS NAMES)
  if(name MATCHES "\\.js$" AND NOT name MATCHES "^(pages/|proof/|app|stream_worker)")
    string(APPEND preload "<link rel=\"modulepreload\" href=\"@DIGEST@/${name}\">\n")
  endif()
endforeach()
file(READ "${FOLDER}/index.html" page)
string(REPLACE "@PRELOAD@" "${preload}" page "${page}")
string(REPLACE "@DIGEST@" "${all}" page "${page}")
file(WRITE "${OUTPUT}.html" "${page}")
asset_of("${OUTPUT}.html" "index.html" index)
file(REMOVE "${OUTPUT}.html")

file(WRITE "${OUTPUT}" "// Written by server/console/embed.cmake from the files beside it.
#include \"server/transport/http/console_assets.h\"

namespace signalbox {
namespace {

constexpr ConsoleAsset assets[] = {
${assets}};

constexpr ConsoleAsset index_asset =
${index};

}  // namespace

std::span<const ConsoleAsset> console_assets() { return assets; }
const ConsoleAsset& console_index() { return index_asset; }
std::string_view console_digest() { return \"${all}\"; }

}  // namespace signalbox
")
