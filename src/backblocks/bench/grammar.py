"""The grammar of a problem line, as help text; apart, so that help imports nothing else."""

GRAMMAR = """\
A problem is one line: OP TYPE FORMAT SHAPE [-> CHANNELS] kWINDOW [sSTRIDES] [dDILATIONS] [gGROUPS] PADDING

  OP        a pool, convolution or dilation, or a gradient of one, under TensorFlow's name
  TYPE      f16, bf16, f32 or f64
  FORMAT    nhwc or nchw for images (for a dilation nhwc), ndhwc or ncdhw for volumes
  SHAPE     the sizes of the forward input in the order of FORMAT: 1x64x64x64x32
  ->        channels that come out of a convolution; of a depthwise one, a multiple of those that go in
  k s d     one number for all axes of space, or one for each: k3, k1x2x2. s1 and d1 if left out.
  g         groups of channels that do not see each other (Conv2D, Conv3D); g1 if left out
  PADDING   SAME or VALID

  MaxPool3DGrad f32 ndhwc 1x64x64x64x32 k2 s2 SAME
  Conv3DBackpropInputV2 f32 ndhwc 1x16x56x56x64 -> 128 k3 s1 SAME
  Conv2D bf16 nchw 8x256x28x28 -> 256 k3 s1 g32 SAME
"""
