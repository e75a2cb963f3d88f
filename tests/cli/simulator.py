"""What the tests of adagp simulate share: calling it, and files for it to read."""

import json

from harness import adagp


def simulate(*args, code=0):
    return adagp("simulate", *args, code=code)


def run_json(*args):
    return json.loads(simulate(*args, "--json").stdout)


def topology(path, layers):
    """layers: name, ifmap h, w, filter h, w, channels, filters, stride"""
    lines = ["Layer name, IFMAP h, IFMAP w, Filter h, Filter w, Channels, Filters, Stride,"]
    path.write_text("\n".join(lines + [", ".join(map(str, layer)) + "," for layer in layers]) + "\n")
    return path


TABLE_HEADER = ("model,input,name,op,in_c,in_h,in_w,out_c,out_h,out_w,kernel_h,kernel_w,stride_h,"
                "stride_w,padding_h,padding_w,groups,macs,weights,bias,input_bytes,output_bytes")


def write_table(path, convolutions):
    """convolutions: name, in_c, size, out_c; 3x3, padding 1, stride 1."""
    lines = [TABLE_HEADER]
    for name, c, size, m in convolutions:
        weights = m * c * 9
        lines.append(f"tiny,{size}x{size},{name},conv2d,{c},{size},{size},{m},{size},{size},3,3,1,1,1,1,1,"
                     f"{weights * size * size},{weights},0,{4 * c * size * size},{4 * m * size * size}")
    path.write_text("\n".join(lines) + "\n")
    return path
