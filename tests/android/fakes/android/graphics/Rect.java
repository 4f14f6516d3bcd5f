package android.graphics;

public class Rect {}
