# cmake -D LIST=modules.txt -D FROM=folder -D OUTPUT=path/bpt-spirv -P pack_spirv.cmake
#
# Makes the folder OUTPUT, with the modules of LIST and manifest.txt, which is LIST with the hash of each module's words, and OUTPUT.tar.gz.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT})
file(STRINGS ${LIST} lines)
set(manifest "")
set(names manifest.txt)
foreach(line IN LISTS lines)
  if(line MATCHES "^module ([^ ]+) ")
    set(name ${CMAKE_MATCH_1}.spv)
    file(COPY ${FROM}/${name} DESTINATION ${OUTPUT})
    file(SHA256 ${OUTPUT}/${name} words)
    string(APPEND line " ${words}")
    list(APPEND names ${name})
  endif()
  string(APPEND manifest "${line}\n")
endforeach()
file(WRITE ${OUTPUT}/manifest.txt "${manifest}")
# With one date, so that the same modules make the same archive.
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${OUTPUT}.tar.gz --format=gnutar --mtime=2000-01-01 ${names} WORKING_DIRECTORY ${OUTPUT}
  COMMAND_ERROR_IS_FATAL ANY)
