# Writes a source with the files of the console, as they are, but for comments with types, and compressed:
#
#   cmake -DFOLDER=server/console -DNAMES=app.js,index.html,… -DOUTPUT=console_assets.cc -P embed.cmake
#
# The addresses of the files have the digest of all of them, so that a browser may keep them.
# index.html has @DIGEST@ for it, and @PRELOAD@ for links to the modules of the start.
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
  # They are a tenth of what a browser loads. The lines stay, so that their numbers do.
  if(name MATCHES "\\.js$")
    string(REGEX REPLACE "(\n *)/\\*\\*([^*\n]|\\*[^/\n])*\\*/" "\\1" content "${content}")
  endif()
  set(loaded "${OUTPUT}.loaded")
  file(WRITE "${loaded}" "${content}")
  file(SIZE "${loaded}" content_bytes)
  file(SHA256 "${loaded}" digest)
  media_type_of("${name}" media_type)
  set(packed "${OUTPUT}.gz")
  file(ARCHIVE_CREATE OUTPUT "${packed}" PATHS "${loaded}" FORMAT raw COMPRESSION GZip
    COMPRESSION_LEVEL 9)
  file(READ "${packed}" bytes HEX)
  file(REMOVE "${packed}" "${loaded}")
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
# What is done to the files here counts as well: under one address there is one content.
file(SHA256 "${CMAKE_CURRENT_LIST_FILE}" digest)
set(digests "${digest}\n")
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

# Sets `result` to the modules that `name` imports, and those that they import. An import is one line.
function(imports_of name result)
  set(found "${name}")
  set(left "${name}")
  while(left)
    list(POP_FRONT left importer)
    cmake_path(GET importer PARENT_PATH folder)
    file(READ "${FOLDER}/${importer}" content)
    string(REGEX MATCHALL "(^|\n)import [^';\n]*'\\.[^']*'" imports "${content}")
    foreach(import IN LISTS imports)
      string(REGEX REPLACE "^.*'([^']*)'$" "\\1" imported "${import}")
      cmake_path(APPEND folder "${imported}" OUTPUT_VARIABLE imported)
      cmake_path(NORMAL_PATH imported)
      if(NOT imported IN_LIST NAMES)
        message(FATAL_ERROR "${importer} of the console imports ${imported}, which isn't there")
      elseif(NOT imported IN_LIST found)
        list(APPEND found "${imported}")
        list(APPEND left "${imported}")
      endif()
    endforeach()
  endwhile()
  list(REMOVE_ITEM found "${name}")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The browser asks for all modules of the start at once, not as it finds them in each other, and for no
# others: pages bring what only they need.
imports_of(app.js start)
list(SORT start)
set(preload "")
foreach(name IN LISTS start)
  string(APPEND preload "<link rel=\"modulepreload\" href=\"@DIGEST@/${name}\">\n")
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
