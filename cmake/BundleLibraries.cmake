# SPDX-License-Identifier: Apache-2.0
# Run by cpack: copies what `binaries` link and `loaded` need into lib, and the licences that Debian's packages of these state.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${binaries} LIBRARIES ${loaded}
  RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so")
foreach(library ${loaded})
  file(REAL_PATH ${library} real)
  get_filename_component(folder ${library} DIRECTORY)
  file(GLOB links ${folder}/libdnnl.so.*)
  list(APPEND found ${links})
endforeach()
foreach(library ${found})
  file(INSTALL ${library} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
endforeach()

foreach(library ${found})
  get_filename_component(name ${library} NAME)
  execute_process(COMMAND dpkg-query --search "*/${name}" OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:,]+)" AND EXISTS /usr/share/doc/${CMAKE_MATCH_1}/copyright)
    set(package ${CMAKE_MATCH_1})
    file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_PREFIX}/share/doc/accum/licences
      RENAME ${package} FOLLOW_SYMLINK_CHAIN)
  endif()
endforeach()
